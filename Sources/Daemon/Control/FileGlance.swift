import Control
import Dispatch
import Jobs
import Synchronization

/// Looks at the files that inputs name, for a short while: a disk on a server that does not answer holds up no caller, and
/// what was not looked at in time is left to the job.
final class FileGlance: Sendable {
    private let queue = DispatchQueue(label: "halyard.glance")
    /// When the look under way began.
    private let begunAt = Mutex<ContinuousClock.Instant?>(nil)
    private let patience: Duration

    init(patience: Duration = .seconds(1)) { self.patience = patience }

    /// - Parameter look: Blocks.
    /// - Returns: The first problem that was found in time.
    func first<Element: Sendable>(
        of elements: [Element], _ look: @escaping @Sendable (Element) -> ControlProblem?
    ) async -> ControlProblem? {
        let now = ContinuousClock.now
        let isStuck = begunAt.withLock { $0.map { now - $0 > patience } ?? false }
        if elements.isEmpty || isStuck { return nil }
        let giveUpAt = now + patience
        return await withCheckedContinuation { continuation in
            let answer = Answer(continuation)
            queue.async { [self] in
                begunAt.withLock { $0 = .now }
                var problem: ControlProblem?
                for element in elements where problem == nil && ContinuousClock.now < giveUpAt {
                    problem = look(element)
                }
                begunAt.withLock { $0 = nil }
                answer.give(problem)
            }
            let limit = DispatchTimeInterval.milliseconds(Int(patience / .milliseconds(1)))
            DispatchQueue.global().asyncAfter(deadline: .now() + limit) { answer.give(nil) }
        }
    }

    /// Given once.
    private final class Answer: Sendable {
        private let continuation: Mutex<CheckedContinuation<ControlProblem?, Never>?>

        init(_ continuation: CheckedContinuation<ControlProblem?, Never>) {
            self.continuation = Mutex(continuation)
        }

        func give(_ problem: ControlProblem?) {
            continuation.withLock { $0.take() }?.resume(returning: problem)
        }
    }
}
