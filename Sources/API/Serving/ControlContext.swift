import ControlProtocol
import Hummingbird
import Logging
import NIOCore
import OperationTypes

/// The context of one request.
struct ControlContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
        let body: BodyReader
        let closed: StopSignal
        let user: UInt32
        let channel: any Channel
    }

    var coreContext: CoreRequestContextStorage
    let body: BodyReader
    /// Fires when the connection is closed.
    let closed: StopSignal
    /// The caller's user id.
    let user: UInt32
    let channel: any Channel

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        body = source.body
        closed = source.closed
        user = source.user
        channel = source.channel
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
