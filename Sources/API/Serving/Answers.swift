import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Jobs
import NIOCore
import OperationTypes

/// Produces answers whose size depends on the request. Together they use a bounded amount of memory:
///
/// - A listing is produced in pieces, each after the caller has read the previous one. Only one piece is
///   produced at a time, in the order of the requests, so listings occupy at most one processor, whatever the
///   number of callers.
/// - An answer that is produced as a whole, such as a job with its result, does not wait for listings. Like
///   every other answer of known length, it counts until its bytes are written; ``ControlResponder`` reserves
///   that memory.
/// - A caller that reads nothing for ``ServerLimits/reading`` is disconnected.
final class Answers: Sendable {
    private let semaphore = AsyncSemaphore(1)
    private let wholeSemaphore = AsyncSemaphore(2)
    private let background = BackgroundExecutor(named: "halyard-answers")
    let memory: AnswerMemory
    private let limits: ServerLimits
    private let stop: StopSignal

    /// The memory reserved for a piece. Most pieces are smaller; a piece with a large input also reserves its
    /// own size.
    private static let pieceBytes = 64 << 10

    init(limits: ServerLimits, stop: StopSignal) {
        self.limits = limits
        self.stop = stop
        memory = AnswerMemory(limits.answerBytes)
    }

    /// Turns the answer of a route into a response.
    func response(
        _ answer: RouteAnswer, to request: Request, _ context: ControlContext
    ) async throws -> Response {
        switch answer {
        case .done: return .done
        case .value(let json, let status):
            return Response(bytes: json.line, status: HTTPResponse.Status(code: status))
        case .large(let produce):
            return Response(bytes: try await withPermit(of: wholeSemaphore, context) { try await produce().line })
        case .text(let type, let produce):
            let text = try await withPermit(of: wholeSemaphore, context) { Array(try await produce().utf8) }
            return Response(bytes: text, type: type)
        case .listing(let pieces): return try await listing(pieces, context)
        case .slow(let work):
            let json = try await context.untilClosed(request, stop, work)
            return (json.map { Response(bytes: $0.line) } ?? .done).lastOfItsConnection
        }
    }

    private func listing(_ pieces: Pieces, _ context: ControlContext) async throws -> Response {
        // Reserves two pieces: one waits for the caller while the next is produced.
        guard let hold = memory.take(2 * Self.pieceBytes, for: context.user) else { throw AnswerMemory.full }
        let first = try await withPermit(of: semaphore, context, pieces.next)
        guard let rest = first.rest else { return Response(bytes: first.bytes) }
        let large = try large(first, context)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { [self] writer in
                var writer = PacedWriter(writer, on: context.channel, limit: limits.reading)
                try await writer.write(ByteBuffer(bytes: first.bytes))
                large?.release()
                var rest: Pieces? = rest
                while let pieces = rest {
                    guard await semaphore.wait() else { throw CancellationError() }
                    let piece: Pieces.Piece
                    do {
                        defer { semaphore.signal() }
                        piece = try await withTaskExecutorPreference(background) { try await pieces.next() }
                    }
                    let large = try self.large(piece, context)
                    try await writer.write(ByteBuffer(bytes: piece.bytes))
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
        guard let hold = memory.take(piece.bytes.count, for: context.user) else { throw AnswerMemory.full }
        return hold
    }

    /// Waits for a permit, then runs `work`. Throws when the caller disconnects or the server stops.
    private func withPermit<Value: Sendable>(
        of semaphore: AsyncSemaphore, _ context: ControlContext, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let value = try await context.closed.whileRunning { [stop, background] in
            try await stop.whileRunning {
                guard await semaphore.wait() else { throw CancellationError() }
                defer { semaphore.signal() }
                return try await withTaskExecutorPreference(background) { try await work() }
            }
        }
        guard let value = value ?? nil else { throw ControlProblem.stopping }
        return value
    }
}

extension ControlProblem {
    static let stopping = ControlProblem(.unavailable, "The daemon is stopping. Try again after it restarts.")
}
