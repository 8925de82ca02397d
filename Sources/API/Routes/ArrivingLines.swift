import Jobs
import OperationTypes
import Synchronization

/// The lines of a body. New lines are read and parsed while earlier lines are being stored, so that all lines that
/// arrive in the meantime share a commit. Memory use does not depend on the number of lines: reading pauses at the
/// limits.
final class ArrivingLines<Line: Sendable>: Sendable {
    private struct State {
        var lines: [Line] = []
        var bytes = 0
        var end: Result<Void, any Error>?
        /// Opens when lines have arrived, or when no more will come.
        var arrived = Latch<Void>()
        /// Opens when there is room for more lines.
        var taken = Latch<Void>()
    }

    private static var maxLines: Int { 1000 }
    private static var maxBytes: Int { 1 << 20 }

    private let state = Mutex(State())
    private let parse: @Sendable (LineSplitter.Line) -> Line

    init(parse: @escaping @Sendable (LineSplitter.Line) -> Line) { self.parse = parse }

    /// Reads all lines, each of at most `limit` bytes. Returns when the body has ended or the task is cancelled.
    func read(_ chunks: BodyReader.Chunks, limit: Int) async {
        var splitter = LineSplitter(limit: limit)
        do {
            for try await chunk in chunks {
                let lines = splitter.add(chunk).map(parse)
                guard let full = add(lines, bytes: chunk.count) else { continue }
                if await full.wait() == nil { throw CancellationError() }
            }
            if let last = splitter.finish() { _ = add([parse(last)], bytes: 0) }
            end(.success(()))
        } catch {
            end(.failure(error))
        }
    }

    /// - Returns: The latch to wait for before more lines are read; nil if there is room.
    private func add(_ lines: [Line], bytes: Int) -> Latch<Void>? {
        state.withLock { state in
            state.lines += lines
            state.bytes += bytes
            if !state.lines.isEmpty { state.arrived.open() }
            let hasRoom = state.lines.isEmpty || (state.lines.count < Self.maxLines && state.bytes < Self.maxBytes)
            return hasRoom ? nil : state.taken
        }
    }

    private func end(_ end: Result<Void, any Error>) {
        state.withLock { state in
            state.end = end
            state.arrived.open()
        }
    }

    /// Takes the lines that have arrived, at least one; nil at the end.
    func next() async throws -> [Line]? {
        if await state.withLock(\.arrived).wait() == nil { throw CancellationError() }
        return try state.withLock { state in
            if state.lines.isEmpty {
                try state.end?.get()
                return nil
            }
            defer {
                state.lines = []
                state.bytes = 0
                if state.end == nil { state.arrived = Latch() }
                state.taken.open()
                state.taken = Latch()
            }
            return state.lines
        }
    }
}
