import Synchronization

/// Ends long waits when the server stops or the caller disconnects.
final class StopSignal: Sendable {
    private struct State {
        var isFired = false
        var next = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    var isFired: Bool { state.withLock(\.isFired) }

    func fire() {
        let waiting = state.withLock { state in
            state.isFired = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when the signal fires or the task is cancelled.
    func wait() async {
        let ticket = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isFired || Task.isCancelled { return true }
                    state.waiting[ticket] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
        }
    }

    /// Runs `work` until it ends or the signal fires, which cancels it.
    ///
    /// - Parameter endsItself: Called when the signal fires. If it returns true, the work ends soon by itself
    ///   and may continue.
    /// - Returns: Nil if the signal ended the work.
    func whileRunning<Value: Sendable>(
        orWhen endsItself: @escaping @Sendable () async -> Bool = { false },
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                await self.wait()
                // If the work ends by itself, this task waits until the group cancels it.
                if !Task.isCancelled, await endsItself() { await StopSignal().wait() }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
