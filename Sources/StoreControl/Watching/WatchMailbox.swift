import ControlProtocol
import Jobs
import OperationTypes
import Synchronization

/// The changes in a scope that were not reported yet. Each job appears only once, however often it changes, so
/// that a slow reader costs little and gets the current state.
final class WatchMailbox: Sendable {
    enum Item: Hashable {
        case job(JobID)
        case progress(JobID, OperationProgress)
        /// There were too many changes, or the store may have missed some, so everything must be read again.
        case overflow
    }

    private struct State {
        /// The jobs in order of arrival; ``next`` is the index of the first one that was not taken.
        var jobs: [JobID] = []
        var next = 0
        var pending: Set<JobID> = []
        var progress: [JobID: OperationProgress] = [:]
        var hasOverflowed = false
        var reader: CheckedContinuation<Item?, Never>?

        /// The number of kept items, including taken jobs that are not removed yet.
        var size: Int { jobs.count + progress.count }

        /// Drops all changes, since the reader must read everything again. Later changes are dropped too, until
        /// the reader takes the overflow.
        mutating func overflow() {
            jobs = []
            next = 0
            pending = []
            progress = [:]
            hasOverflowed = true
        }

        mutating func take() -> Item? {
            if hasOverflowed {
                self = State()
                return .overflow
            }
            if next < jobs.count {
                let job = jobs[next]
                next += 1
                pending.remove(job)
                // Remove taken jobs when they are half of the array, so that each job moves at most once.
                if next * 2 >= jobs.count {
                    jobs.removeFirst(next)
                    next = 0
                }
                return .job(job)
            }
            return progress.popFirst().map { .progress($0.key, $0.value) }
        }
    }

    private let scope: WatchScope
    private let capacity: Int
    private let budget: WatchBudget
    private let state = Mutex(State())

    /// - Parameters:
    ///   - capacity: The maximum number of changes to keep for the scope `all`.
    ///   - budget: Shared with the mailboxes of other watchers.
    init(scope: WatchScope, capacity: Int = 10_000, budget: WatchBudget = WatchBudget()) {
        self.scope = scope
        self.capacity = capacity
        self.budget = budget
    }

    deinit { budget.add(-held) }

    func add(_ change: StoreChange) {
        if case .missed = change { return deliver { $0.overflow() } }
        guard case .jobs(let changes) = change else { return }
        let relevant = changes.filter { isInScope($0) }
        if relevant.isEmpty { return }
        deliver { state in
            for change in relevant where state.pending.insert(change.job).inserted { state.jobs.append(change.job) }
        }
    }

    func add(_ progress: OperationProgress, of job: JobID) { deliver { $0.progress[job] = progress } }

    /// The number of kept items, including taken jobs that are not removed yet.
    var held: Int { state.withLock(\.size) }

    private func isInScope(_ change: JobChange) -> Bool {
        switch scope {
        case .job(let id): change.job == id
        case .graph(let id): change.graph == id
        case .all: true
        }
    }

    private func deliver(_ change: (inout State) -> Void) {
        let (reader, item) = state.withLock { state in
            if state.hasOverflowed { return (CheckedContinuation<Item?, Never>?.none, Item?.none) }
            let before = state.size
            defer { budget.add(state.size - before) }
            change(&state)
            // Every job of a graph must be reported, so only the shared budget limits the changes of a graph.
            let isFull = scope == .all && state.pending.count + state.progress.count > capacity
            if isFull || !budget.hasRoom(for: state.size - before) { state.overflow() }
            guard let reader = state.reader.take() else { return (CheckedContinuation<Item?, Never>?.none, Item?.none) }
            return (reader, state.take())
        }
        reader?.resume(returning: item)
    }

    /// Waits for the next item and returns it; nil if the task is cancelled.
    func next() async -> Item? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let answer = state.withLock { state -> Item?? in
                    if Task.isCancelled { return .some(nil) }
                    let before = state.size
                    defer { budget.add(state.size - before) }
                    if let item = state.take() { return item }
                    state.reader = reader
                    return .none
                }
                if let answer { reader.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.reader.take() }?.resume(returning: nil)
        }
    }
}
