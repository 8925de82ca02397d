import Synchronization

/// Runs `work`, and cancels it when it takes longer than `limit`. Returns or throws only after `work` has ended.
///
/// - Parameters:
///   - limit: The time limit; nil for none.
///   - failure: The error to throw when the limit is reached; evaluated only then.
package func withDeadline<T: Sendable>(
    _ limit: Duration?, failure: @autoclosure @escaping @Sendable () -> KindFailure,
    _ work: @escaping @Sendable () async throws(KindFailure) -> T
) async throws(KindFailure) -> T {
    guard let limit else { return try await work() }
    let end = ContinuousClock.now + limit
    return try await withLimit(left: { end - .now }, failure: failure(), work)
}

/// Runs `work`, and cancels it when no time is left. Returns or throws only after `work` has ended.
///
/// - Parameters:
///   - left: Returns how much time is left. It is called again after that time, since the clock behind it may have been
///     paused.
///   - failure: The error to throw when no time is left; evaluated only then.
package func withLimit<T: Sendable>(
    left: @escaping @Sendable () -> Duration, failure: @autoclosure @escaping @Sendable () -> KindFailure,
    _ work: @escaping @Sendable () async throws(KindFailure) -> T
) async throws(KindFailure) -> T {
    let overrun = Overrun()
    let cut = Cut()
    let alarm = Alarm.set(after: left()) {
        let left = left()
        if left > .zero { return max(left, .milliseconds(10)) }
        // Recorded before cancelling, so that the cancelled work can find its cause.
        overrun.happened(failure())
        cut.cancel()
        return nil
    }
    // A separate child task, so that it can be cancelled without cancelling the caller. It runs on the caller's
    // executor.
    async let outcome = cut.ending {
        await Overrun.$current.withValue(overrun) { () async -> Result<T, KindFailure> in
            do throws(KindFailure) { return .success(try await work()) } catch { return .failure(error) }
        }
    }
    let result = await outcome
    alarm.cancel()
    return try overrun.judge(result)
}

/// Runs some work in such a way that another task can cancel it.
private final class Cut: Sendable {
    private enum State {
        case notBegun
        // SAFETY: used only under the lock, and `ending` removes it before the task ends.
        case running(UnsafeCurrentTask)
        case over
        case cancelled
    }

    private struct Held: @unchecked Sendable {
        // SAFETY: as above. A task may cancel another task through its `UnsafeCurrentTask` while that task exists.
        var state = State.notBegun
    }

    private let held = Mutex(Held())

    /// Runs `work`, and cancels its task when ``cancel()`` is called.
    func ending<T: Sendable>(_ work: @Sendable () async -> T) async -> T {
        let isCancelled = withUnsafeCurrentTask { task in
            held.withLock { held in
                if case .cancelled = held.state { return true }
                if let task { held.state = .running(task) }
                return false
            }
        }
        if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
        defer { held.withLock { $0.state = .over } }
        return await work()
    }

    func cancel() {
        held.withLock { held in
            switch held.state {
            case .notBegun: held.state = .cancelled
            case .running(let task): task.cancel()
            case .over, .cancelled: break
            }
        }
    }
}

/// Records that a time limit cancelled some work, since the cancelled work itself cannot find that out.
final class Overrun: Sendable {
    @TaskLocal static var current: Overrun?

    private let outer = Overrun.current
    private let failure = Mutex<KindFailure?>(nil)

    /// Why the current task was cancelled: the failure of the time limit that was reached, or a plain cancellation if
    /// none was.
    static var cause: KindFailure {
        var next = current
        while let overrun = next {
            if let failure = overrun.failure.withLock(\.self) { return failure }
            next = overrun.outer
        }
        return .cancelled
    }

    fileprivate func happened(_ failure: KindFailure) { self.failure.withLock { $0 = failure } }

    /// Decides the result of the work under this limit.
    fileprivate func judge<T>(_ result: Result<T, KindFailure>) throws(KindFailure) -> T {
        guard let failure = failure.withLock(\.self) else { return try result.get() }
        // Keeps the result of work that succeeded at the last moment.
        if case .success(let value) = result { return value }
        // If an inner limit was reached at the same time, its failure describes more precisely what took so long.
        if case .failure(let inner) = result, inner.reason == .timeout { throw inner }
        throw Task.isCancelled ? .cancelled : failure
    }
}
