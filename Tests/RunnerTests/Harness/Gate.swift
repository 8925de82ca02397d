import Jobs
import OperationTypes
import Synchronization

@testable import Runner

/// Something that operations wait at until the test lets them go.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [Latch<Bool>] = []
    }

    private let state = Mutex(State())
    private let arrivals = AsyncStream<Lease>.makeStream()

    /// True when the test opened the gate, false when the attempt was told to stop.
    func wait(_ job: JobContext) async -> Bool {
        let passed = enter(job.lease)
        job.operation.cancellation.register { passed.open(with: false) }
        return await passed.uncancellableWait()
    }

    /// Heeds nobody but the test.
    func waitStubbornly(_ job: JobContext) async { await enter(job.lease).uncancellableWait() }

    private func enter(_ lease: Lease) -> Latch<Bool> {
        let passed = Latch<Bool>()
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiting.append(passed) }
            return state.isOpen
        }
        if isOpen { passed.open(with: true) }
        arrivals.continuation.yield(lease)
        return passed
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for passed in waiting { passed.open(with: true) }
    }

    /// The next `count` arrivals, in order.
    func arrived(_ count: Int = 1) async -> [Lease] {
        var leases: [Lease] = []
        var iterator = arrivals.stream.makeAsyncIterator()
        while leases.count < count, let lease = await iterator.next() { leases.append(lease) }
        return leases
    }
}
