import NIOCore
import NIOHTTP1
import Synchronization

/// One request and its response, passed between the requesting task and the event loop of its connection.
///
/// 1. Only the loop adds to the response, and only the task takes from it.
/// 2. The response ends once, with success or with a failure.
/// 3. While ``maxWaiting`` bytes or more wait for the task, the loop does not read.
final class Exchange: Sendable {
    static let maxWaiting = 256 << 10

    private enum Need { case head, piece }

    private struct State {
        var head: HTTPResponseHead?
        var pieces = WaitingPieces()
        var end: Result<Void, any Error>?
        var waiter: (need: Need, continuation: CheckedContinuation<Void, Never>)?
        /// Whether the loop has stopped reading because too many bytes wait (3).
        var isHeld = false

        func satisfies(_ need: Need) -> Bool {
            switch need {
            case .head: head != nil || end != nil
            case .piece: !pieces.isEmpty || end != nil
            }
        }
    }

    let connection: Connection
    let interim: InterimAnswers?
    let trace: ConnectionTrace?
    private let state = Mutex(State())

    init(on connection: Connection, interim: InterimAnswers?, trace: ConnectionTrace?) {
        self.connection = connection
        self.interim = interim
        self.trace = trace
    }

    // MARK: The task's side

    /// Waits for the head of the response.
    func head() async throws -> HTTPResponseHead {
        try await wait(for: .head)
        return try state.withLock { state in
            if let head = state.head { return head }
            try state.end?.get()
            throw ConnectionError.closed
        }
    }

    /// Waits for the next piece of the body. Returns nil at the end of the body.
    func next() async throws -> ByteBuffer? {
        if try state.withLock({ $0.pieces.isEmpty && $0.end != nil ? $0.end : nil })?.get() != nil { return nil }
        try await wait(for: .piece)
        let (piece, isHeld) = try state.withLock { state -> (ByteBuffer?, Bool) in
            guard let piece = state.pieces.popFirst() else {
                try state.end?.get()
                return (nil, false)
            }
            let isHeld = state.isHeld && state.pieces.bytes < Self.maxWaiting
            if isHeld { state.isHeld = false }
            return (piece, isHeld)
        }
        if isHeld { connection.perform { $0.readOn() } }
        return piece
    }

    /// Sends a body, buffer by buffer, as fast as the connection accepts them. Returns when the body is sent, or when
    /// the connection needs no more of it.
    func send(_ stream: any AsyncSequence<ByteBuffer, any Error> & Sendable) async {
        do {
            for try await buffer in stream {
                let isMoreWanted = await withCheckedContinuation { writer in
                    connection.perform { $0.send(buffer, of: self, writer) }
                }
                if !isMoreWanted { return }
            }
            connection.perform { $0.endBody(of: self) }
        } catch {
            abort(error)
        }
    }

    /// Ends the exchange early if the response is not complete, since the task needs no more of it.
    func leave() {
        if state.withLock({ $0.end == nil }) { abort(CancellationError()) }
    }

    /// If the response is not complete, makes it end here without an error, and closes the connection.
    func cutOff() {
        if isOver { return }
        finish()
        connection.perform { $0.abandon(self) }
    }

    /// Fails the exchange and closes its connection.
    func abort(_ error: any Error) {
        fail(error)
        connection.perform { $0.abandon(self) }
    }

    private func wait(for need: Need) async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.satisfies(need) { return true }
                    state.waiter = (need, continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            abort(CancellationError())
        }
    }

    // MARK: The loop's side

    var isOver: Bool { state.withLock { $0.end != nil } }

    func receive(_ head: HTTPResponseHead) { state.withLock { $0.head = head } }

    func receive(_ piece: ByteBuffer) {
        state.withLock { state in
            if state.end != nil { return }
            state.pieces.append(piece)
        }
    }

    /// Whether the loop may continue to read. If not, ``next()`` calls ``ExchangeHandler/readOn()`` as soon as it may.
    func mayRead() -> Bool {
        state.withLock { state in
            state.isHeld = state.end == nil && state.pieces.bytes >= Self.maxWaiting
            return !state.isHeld
        }
    }

    /// Resumes the task if the part that it waits for has arrived.
    func wake() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiter = state.waiter, state.satisfies(waiter.need) else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        waiter?.resume()
    }

    func finish() { end(.success(())) }
    func fail(_ error: any Error) { end(.failure(error)) }

    private func end(_ end: Result<Void, any Error>) {
        state.withLock { state in
            if state.end == nil { state.end = end }
        }
        wake()
    }
}
