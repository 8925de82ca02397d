import NIOPosix
import OperationTypes

extension NIOThreadPool {
    /// Runs blocking work on one of the pool's threads.
    ///
    /// If the task is cancelled, this throws at once: work that has started runs to its end, and its result is dropped.
    ///
    /// - Throws: `CancellationError`, also if the pool is shut down.
    package func runAbandoningOnCancel<T: Sendable>(_ work: @escaping @Sendable () -> T) async throws(CancellationError)
        -> T
    {
        if Task.isCancelled { throw CancellationError() }
        let waiter = Waiter<T>()
        submit { state in
            if waiter.isOver { return }
            waiter.end(with: state == .active ? work() : nil)
        }
        guard let result = await waiter.outcome() else { throw CancellationError() }
        return result
    }
}
