import ControlProtocol
import Dispatch
import OperationTypes
import Synchronization

/// Runs checks of inputs that may block, within a time limit, so that a disk on an unresponsive server does not delay
/// callers. If a check does not finish in time, only the job itself notices the problem.
final class BlockingChecks: Sendable {
    typealias Check = @Sendable () -> ControlProblem?

    private let queue = DispatchQueue(label: "halyard.checks")
    private let maxQueueing: Duration
    private let load = Mutex(Load())

    /// The requests whose checks run or wait.
    private struct Load {
        var requests = 0
        /// When the checks of the running request began; nil while none run.
        var begunAt: ContinuousClock.Instant?
    }

    /// - Parameter maxQueueing: How long a request waits for the checks of other requests.
    init(maxQueueing: Duration = .milliseconds(50)) { self.maxQueueing = maxQueueing }

    /// - Parameter limit: How long all checks of the request may take together.
    func request(limit: Duration = .seconds(1)) -> Request { Request(self, limit: limit) }

    /// The checks of one request. After the first check that takes too long, the request runs no further checks.
    final class Request: Sendable {
        private let checks: BlockingChecks
        private let left: Mutex<Duration>

        fileprivate init(_ checks: BlockingChecks, limit: Duration) {
            self.checks = checks
            left = Mutex(limit)
        }

        /// - Returns: The first problem found in time; nil if there was none.
        func firstProblem(of list: [Check]) async -> ControlProblem? {
            let limit = left.withLock { $0 }
            if list.isEmpty || limit <= .zero { return nil }
            let begunAt = ContinuousClock.now
            let result = await checks.run(list, within: limit)
            left.withLock { $0 = result == nil ? .zero : limit - (.now - begunAt) }
            return result?.problem
        }
    }

    /// - Returns: Nil if the checks did not end in time.
    private func run(_ list: [Check], within limit: Duration) async -> Found? {
        let now = ContinuousClock.now
        let position = load.withLock { load -> Int? in
            if let begunAt = load.begunAt, now - begunAt > maxQueueing { return nil }
            load.requests += 1
            return load.requests
        }
        guard let position else { return nil }
        let waiter = Waiter<Found>()
        let hasBegun = Atomic(false)
        queue.async { [self] in
            var found = Found()
            hasBegun.store(true, ordering: .sequentiallyConsistent)
            // Otherwise the caller no longer waits.
            if !waiter.isOver {
                load.withLock { $0.begunAt = .now }
                for check in list where found.problem == nil && ContinuousClock.now - now < limit {
                    found.problem = check()
                }
            }
            load.withLock { load in
                load.begunAt = nil
                load.requests -= 1
            }
            waiter.end(with: found)
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit.interval) { waiter.end(with: nil) }
        if position > 1 {
            DispatchQueue.global().asyncAfter(deadline: .now() + maxQueueing.interval) {
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
