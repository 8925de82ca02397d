import OperationTypes

/// Ends long waits when the server stops or the caller disconnects.
typealias StopSignal = Latch<Void>

extension StopSignal {
    /// Runs `work` until it ends or the signal fires, which cancels it.
    ///
    /// - Parameter endsItself: Called when the signal fires. If it returns true, the work ends soon by itself
    ///   and may continue.
    /// - Returns: Nil if the signal ended the work.
    func whileRunning<Answer: Sendable>(
        orWhen endsItself: @escaping @Sendable () async -> Bool = { false },
        _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer? {
        try await withThrowingTaskGroup(of: Answer?.self) { group in
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
