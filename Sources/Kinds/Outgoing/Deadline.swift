import Synchronization

/// Runs `work`, and cancels it when it takes longer than `limit`. Returns or throws only when `work` has ended.
///
/// - Parameter limit: Nil for no limit.
/// - Parameter failure: Made when the limit is reached.
func withDeadline<T: Sendable>(
    _ limit: Duration?, failure: @autoclosure @escaping @Sendable () -> KindFailure,
    _ work: @escaping @Sendable () async throws(KindFailure) -> T
) async throws(KindFailure) -> T {
    guard let limit else { return try await work() }
    return try await withLimit(
        {
            // Cancelled when the work is done, or with all of it: either way there is nothing to report.
            try? await Task.sleep(for: limit)
        }, failure: failure(), work)
}

/// Runs `work`, and cancels it when `limit` returns first. Returns or throws only when `work` has ended.
func withLimit<T: Sendable>(
    _ limit: @escaping @Sendable () async -> Void, failure: @autoclosure @escaping @Sendable () -> KindFailure,
    _ work: @escaping @Sendable () async throws(KindFailure) -> T
) async throws(KindFailure) -> T {
    let overrun = Overrun()
    let result = await withTaskGroup(of: Result<T, KindFailure>?.self) { group in
        group.addTask {
            await Overrun.$current.withValue(overrun) {
                do throws(KindFailure) { return .success(try await work()) } catch { return .failure(error) }
            }
        }
        group.addTask {
            await limit()
            return nil
        }
        let first = await group.next() ?? nil
        if first != nil {
            group.cancelAll()
            return first
        }
        // Before what is under way learns of it.
        let failure = failure()
        if !Task.isCancelled { overrun.happened(failure) }
        group.cancelAll()
        let work = await group.next() ?? nil
        // Work that ended well at the last moment is not thrown away.
        if case .success = work { return work }
        // A limit within that was reached at the same moment knows better what took so long.
        if case .failure(let inner) = work, inner.reason == .timeout { return work }
        return Task.isCancelled ? .failure(.cancelled) : .failure(failure)
    }
    guard let result else { throw failure() }
    return try result.get()
}

/// Why work was cancelled, when that was for a limit of ours: what is cancelled cannot tell by itself.
final class Overrun: Sendable {
    @TaskLocal static var current: Overrun?

    private let outer = Overrun.current
    private let failure = Mutex<KindFailure?>(nil)

    /// Of the work that this task is part of; a plain cancellation unless a limit was reached.
    static var cause: KindFailure {
        var next = current
        while let overrun = next {
            if let failure = overrun.failure.withLock(\.self) { return failure }
            next = overrun.outer
        }
        return .cancelled
    }

    fileprivate func happened(_ failure: KindFailure) { self.failure.withLock { $0 = failure } }
}
