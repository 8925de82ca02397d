import ControlProtocol
import HummingbirdCore
import NIOCore
import OperationTypes

/// The context of one request.
struct ControlContext: Sendable {
    /// The part of the path that the route leaves open, such as the job's number, with its percent escapes.
    var parameter = ""
    let body: BodyReader
    /// Fires when the connection is closed.
    let closed: StopSignal
    /// The caller's user id.
    let user: UInt32
    let channel: any Channel

    init(body: BodyReader, closed: StopSignal, user: UInt32, channel: any Channel) {
        self.body = body
        self.closed = closed
        self.user = user
        self.channel = channel
    }
}

extension ControlContext {
    /// Runs long work, and cancels it when the peer disconnects or the server stops.
    func untilClosed<Value: Sendable>(
        _ request: Request, _ stop: StopSignal, orWhen endsItself: @escaping @Sendable () async -> Bool = { false },
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // The inbound stream reports no close once another request has arrived, so also watch the connection itself.
        let value = try await request.body.consumeWithInboundCloseHandler { _ in
            try await closed.whileRunning { try await stop.whileRunning(orWhen: endsItself, work) }
        } onInboundClosed: {
            closed.open()
        }
        guard let value = value ?? nil else { throw ControlProblem.stopping }
        return value
    }
}
