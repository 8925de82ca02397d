import Control
import Hummingbird
import HummingbirdCore
import Jobs
import NIOCore

/// Answers that may be large, such as all of a graph: few are read from the store at a time, and few large ones may wait
/// for their readers, at most half of those for one user. A stop ends those that are not read yet, and a caller that is
/// gone its own.
final class LargeAnswers: Sendable {
    /// From here on an answer counts as large.
    static let bytes = 1 << 20

    private let turns = Turns(2)
    private let unread = Permits(4, ofOneUser: 2)
    private let stop: StopSignal

    init(stop: StopSignal) { self.stop = stop }

    func answer(
        _ context: ControlContext, _ read: @escaping @Sendable () async throws -> JSONText
    ) async throws -> Response {
        try await answer(context, type: "application/json") {
            // The last byte of JSON for people, who see it in a terminal.
            try await read().bytes + [UInt8(ascii: "\n")]
        }
    }

    func answer(
        _ context: ControlContext, type: String, _ read: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> Response {
        let work: @Sendable () async throws -> Response = {
            [turns, unread, user = context.limitedUser, eventLoop = context.eventLoop] in
            guard await turns.take() else { throw CancellationError() }
            defer { turns.give() }
            let bytes = try await read()
            guard bytes.count > Self.bytes else {
                return Response(
                    status: .ok, headers: [.contentType: type],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
            }
            guard let user else { return Response(bytes, type: type, on: eventLoop, holding: nil) }
            guard let permit = unread.take(for: user) else { throw Self.busy }
            return Response(bytes, type: type, on: eventLoop, holding: permit)
        }
        let response = try await context.closed.whileRunning { [stop] in try await stop.whileRunning(work) }
        guard let response = response ?? nil else { throw ControlProblem.stopping }
        return response
    }

    private static let busy = ControlProblem(
        .unavailable, "Other large answers wait to be read. Try again in a moment, or ask for less at once.")
}

extension Response {
    /// Keeps a permit, where there is one, until the bytes are written, as fast as it is read: each piece waits for those before it.
    fileprivate init(
        _ bytes: [UInt8], type: String, on eventLoop: any EventLoop, holding permit: Permits.Permit?
    ) {
        self.init(
            status: .ok, headers: [.contentType: type],
            body: ResponseBody(contentLength: bytes.count) { writer in
                for start in stride(from: 0, to: bytes.count, by: 64 << 10) {
                    try await writer.write(ByteBuffer(bytes: bytes[start..<min(start + (64 << 10), bytes.count)]))
                    // A piece is handed over without waiting; only when the event loop has it is it known whether the
                    // peer reads.
                    try await eventLoop.submit {}.get()
                }
                try await writer.finish(nil)
                withExtendedLifetime(permit) {}
            })
    }
}

extension ControlProblem {
    static let stopping = ControlProblem(.unavailable, "The daemon stops. Try again when it has started.")
}
