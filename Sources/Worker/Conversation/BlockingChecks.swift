import Jobs
import OperationTypes
import Synchronization

/// Runs checks of inputs that may block, on dedicated threads and within a time limit. If a check does not finish in
/// time, only the run of the job notices the problem.
final class BlockingChecks: Sendable {
    /// The check of one input of a message.
    struct Check: Sendable {
        var index: Int
        var refusal: @Sendable () -> InputRefusal?
    }

    /// The time for all checks of one message together.
    private static let limit = Duration.seconds(1)
    /// The maximum number of threads that exceed the limit. With more of them, no check is run.
    private static let maxLate = 8

    private struct Progress {
        var refusals: [Int: InputRefusal] = [:]
        var isDone = false
        var isLate = false
    }

    private final class Request: Sendable {
        let progress = Mutex(Progress())
        let answer = Latch<Void>()
    }

    private let late = Mutex(0)

    /// Runs the checks in order.
    ///
    /// - Returns: The refusals found in time, by the index of the input.
    func refusals(of checks: [Check]) async -> [Int: InputRefusal] {
        if checks.isEmpty || late.withLock({ $0 >= Self.maxLate }) { return [:] }
        let request = Request()
        do {
            try startThread(named: "halyard-check") { [self] in
                for check in checks where !request.answer.isOpen {
                    if let refusal = check.refusal() {
                        request.progress.withLock { $0.refusals[check.index] = refusal }
                    }
                }
                let wasLate = request.progress.withLock { progress in
                    progress.isDone = true
                    return progress.isLate
                }
                if wasLate { late.withLock { $0 -= 1 } }
                request.answer.open()
            }
        } catch {
            // Without a thread, only the runs of the jobs notice problems.
            return [:]
        }
        let timer = Task {
            // Losing the error is harmless: the sleep is cancelled only when the checks are done.
            try? await Task.sleep(for: Self.limit)
            request.answer.open()
        }
        await request.answer.uncancellableWait()
        timer.cancel()
        return request.progress.withLock { progress in
            if !progress.isDone {
                progress.isLate = true
                late.withLock { $0 += 1 }
            }
            return progress.refusals
        }
    }
}
