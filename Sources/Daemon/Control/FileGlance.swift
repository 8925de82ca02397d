import ControlProtocol
import Dispatch
import Jobs
import OperationTypes
import Synchronization

/// Checks the files that inputs name, within a time limit, so that a disk on an unresponsive server does not delay
/// callers. If the time does not suffice for a file, only the job itself checks the file.
final class FileGlance: Sendable {
    private let queue = DispatchQueue(label: "halyard.glance")
    private let turnPatience: Duration
    private let looks = Mutex(Looks())

    /// The checks that run or wait.
    private struct Looks {
        var count = 0
        /// When the running check began; nil while none runs.
        var begunAt: ContinuousClock.Instant?
    }

    private enum Turn { case next, later, never }

    /// - Parameter turnPatience: How long a check waits for the checks of other requests.
    init(turnPatience: Duration = .milliseconds(50)) { self.turnPatience = turnPatience }

    /// - Parameter patience: How long all checks of the request may take together.
    func request(patience: Duration = .seconds(1)) -> Request { Request(self, patience: patience) }

    /// The checks of one request. After the first that takes too long, the request checks nothing more.
    final class Request: Sendable {
        private let glance: FileGlance
        private let patience: Mutex<Duration>

        fileprivate init(_ glance: FileGlance, patience: Duration) {
            self.glance = glance
            self.patience = Mutex(patience)
        }

        /// - Parameter look: Checks one element; it may block.
        /// - Returns: The first problem found in time; nil if there was none.
        func first<Element: Sendable>(
            of elements: [Element], _ look: @escaping @Sendable (Element) -> ControlProblem?
        ) async -> ControlProblem? {
            let patience = patience.withLock { $0 }
            if elements.isEmpty || patience <= .zero { return nil }
            let begunAt = ContinuousClock.now
            let answer = await glance.first(of: elements, for: patience, look)
            let left = answer == nil ? .zero : patience - (.now - begunAt)
            self.patience.withLock { $0 = left }
            return answer?.problem
        }
    }

    /// - Returns: Nil if the checks did not end in time.
    private func first<Element: Sendable>(
        of elements: [Element], for patience: Duration, _ look: @escaping @Sendable (Element) -> ControlProblem?
    ) async -> Found? {
        let now = ContinuousClock.now
        let turn: Turn = looks.withLock { looks in
            if let begunAt = looks.begunAt, now - begunAt > turnPatience { return .never }
            looks.count += 1
            return looks.count == 1 ? .next : .later
        }
        if turn == .never { return nil }
        let waiter = Waiter<Found>()
        let hasBegun = Atomic(false)
        queue.async { [self] in
            var found = Found()
            hasBegun.store(true, ordering: .sequentiallyConsistent)
            // Otherwise the caller no longer waits.
            if !waiter.isOver {
                looks.withLock { $0.begunAt = .now }
                for element in elements where found.problem == nil && ContinuousClock.now - now < patience {
                    found.problem = look(element)
                }
            }
            looks.withLock { looks in
                looks.begunAt = nil
                looks.count -= 1
            }
            waiter.end(with: found)
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience.interval) { waiter.end(with: nil) }
        if turn == .later {
            DispatchQueue.global().asyncAfter(deadline: .now() + turnPatience.interval) {
                if !hasBegun.load(ordering: .sequentiallyConsistent) { waiter.end(with: nil) }
            }
        }
        return await waiter.uncancellableOutcome()
    }

    private struct Found { var problem: ControlProblem? }
}

extension Duration {
    fileprivate var interval: DispatchTimeInterval { .milliseconds(Int(self / .milliseconds(1))) }
}
