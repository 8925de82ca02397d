import Control
import Hummingbird
import HummingbirdCore
import Jobs
import NIOCore

/// Produces answers whose size depends on the request. Together they use a bounded amount of memory:
///
/// - A listing is produced in pieces, each when the caller has read the previous one. Only one piece is produced at a
///   time, in the order of the requests, so listings occupy at most one processor however many callers there are.
/// - An answer that is produced as a whole, such as a job with its result, occupies memory until its bytes are written,
///   and does not wait behind listings.
/// - A caller that reads nothing for ``ServerLimits/reading`` is disconnected.
final class Answers: Sendable {
    private let turns = Turns(1)
    private let wholeTurns = Turns(2)
    private let background = BackgroundExecutor(named: "halyard-answers")
    private let memory: AnswerMemory
    private let limits: ServerLimits
    private let stop: StopSignal

    /// The memory counted for a piece. Most are smaller; a piece with a large input reserves its own size as well.
    private static let pieceBytes = 64 << 10

    init(limits: ServerLimits, stop: StopSignal) {
        self.limits = limits
        self.stop = stop
        memory = AnswerMemory(limits.answerBytes)
    }

    // MARK: Whole answers

    func answer(
        _ context: ControlContext, _ read: @escaping @Sendable () async throws -> JSONText
    ) async throws -> Response {
        try await answer(context, type: "application/json") {
            // The trailing newline is for people, who read the JSON in a terminal.
            try await read().bytes + [UInt8(ascii: "\n")]
        }
    }

    func answer(
        _ context: ControlContext, type: String, _ read: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> Response {
        let bytes = try await inTurn(of: wholeTurns, context, read)
        guard bytes.count > Self.pieceBytes else { return Response(bytes, type: type) }
        guard let hold = memory.take(bytes.count, for: context.user) else { throw Self.busy }
        return Response(
            status: .ok, headers: [.contentType: type],
            body: ResponseBody(contentLength: bytes.count) { [self] writer in
                try await write(bytes, to: &writer, context)
                try await writer.finish(nil)
                hold.release()
                FreedMemory.returnToSystemSoon()
            })
    }

    // MARK: Listings

    func answer(_ context: ControlContext, _ pieces: Pieces) async throws -> Response {
        // Reserves two pieces: one waits for the caller while the next is produced.
        guard let hold = memory.take(2 * Self.pieceBytes, for: context.user) else { throw Self.busy }
        let first = try await inTurn(of: turns, context, pieces.next)
        guard let rest = first.rest else { return Response(first.bytes, type: "application/json") }
        let large = try large(first, context)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { [self] writer in
                try await write(first.bytes, to: &writer, context)
                large?.release()
                var rest: Pieces? = rest
                while let pieces = rest {
                    guard await turns.take() else { throw CancellationError() }
                    let piece: Pieces.Piece
                    do {
                        defer { turns.give() }
                        piece = try await withTaskExecutorPreference(background) { try await pieces.next() }
                    }
                    let large = try self.large(piece, context)
                    try await write(piece.bytes, to: &writer, context)
                    large?.release()
                    rest = piece.rest
                }
                try await writer.finish(nil)
                hold.release()
            })
    }

    /// Reserves extra memory for a piece with a large input. If there is none, the answer ends early.
    private func large(_ piece: Pieces.Piece, _ context: ControlContext) throws -> AnswerMemory.Hold? {
        guard piece.bytes.count > 2 * Self.pieceBytes else { return nil }
        guard let hold = memory.take(piece.bytes.count, for: context.user) else { throw Self.busy }
        return hold
    }

    // MARK: Shared

    /// Waits for a turn, then runs `work`. Throws when the caller disconnects or the server stops.
    private func inTurn<Value: Sendable>(
        of turns: Turns, _ context: ControlContext, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let value = try await context.closed.whileRunning { [stop, background] in
            try await stop.whileRunning {
                guard await turns.take() else { throw CancellationError() }
                defer { turns.give() }
                return try await withTaskExecutorPreference(background) { try await work() }
            }
        }
        guard let value = value ?? nil else { throw ControlProblem.stopping }
        return value
    }

    /// Writes the bytes as fast as the caller reads; closes the connection if the caller reads nothing.
    private func write(
        _ bytes: [UInt8], to writer: inout any ResponseBodyWriter, _ context: ControlContext
    ) async throws {
        for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
            let channel = context.channel
            let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(limits.reading)) {
                channel.close(promise: nil)
            }
            defer { deadline.cancel() }
            let part = bytes[start..<min(start + Self.pieceBytes, bytes.count)]
            try await writer.write(ByteBuffer(bytes: part))
            // The writer waits for the caller only after the event loop has handled the previous part.
            try await channel.eventLoop.submit {}.get()
        }
    }

    private static let busy = ControlProblem(
        .unavailable, "Other callers are still reading large answers. Try again in a moment, or request less at once.")
}

extension Response {
    fileprivate init(_ bytes: [UInt8], type: String) {
        self.init(
            status: .ok, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension ControlProblem {
    static let stopping = ControlProblem(.unavailable, "The daemon is stopping. Try again when it has started.")
}
