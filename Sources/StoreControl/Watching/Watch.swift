import ControlProtocol
import Jobs
import OperationTypes

/// A function that receives the progress of a job. It must return quickly.
public typealias ProgressObserver = @Sendable (JobID, OperationProgress) -> Void

/// One watcher. It reports the current state of its scope and then every change, one event for each call of
/// ``next()``.
///
/// 1. It observes changes before it reads the jobs, so that it misses no change in between.
/// 2. A job's event contains the record as the watch read it, which may be newer than the change.
/// 3. ``WatchEvent/final`` comes once, after the last event of every job in scope.
actor Watch {
    private enum Phase {
        /// Lists the existing jobs that come after this one.
        case listing(after: JobID?)
        case live
        case ended
    }

    private let scope: WatchScope
    private let store: any JobStore
    private let mailbox: WatchMailbox
    private let observations: [StoreObservation]
    private var phase = Phase.listing(after: nil)
    private var unread: [WatchEvent] = []
    private var open: Set<JobID> = []
    private var attempts: [JobID: Int] = [:]

    init(
        scope: WatchScope, store: any JobStore,
        budget: WatchBudget = WatchBudget(),
        observeProgress: (@Sendable (WatchScope, @escaping ProgressObserver) -> StoreObservation)?
    ) {
        self.scope = scope
        self.store = store
        let mailbox = WatchMailbox(scope: scope, budget: budget)
        self.mailbox = mailbox
        // 1.
        observations =
            [store.observe { mailbox.add($0) }]
            + (observeProgress.map { [$0(scope) { mailbox.add($1, of: $0) }] } ?? [])
    }

    /// Returns the next event; nil after the end.
    ///
    /// - Throws: ``ControlProblem`` if the store cannot be read. There are no events after that.
    func next() async throws(ControlProblem) -> WatchEvent? {
        while true {
            if let event = unread.popLast() { return event }
            do throws(StoreError) {
                switch phase {
                case .ended: return nil
                case .listing(let last): try await list(after: last)
                case .live:
                    guard let item = await mailbox.next() else { return nil }
                    try await take(item)
                }
            } catch {
                phase = .ended
                throw ControlProblem(error)
            }
        }
    }

    /// Reads the next page of existing jobs. For the scope `all` it reads only running jobs, since the total
    /// number has no bound.
    private func list(after last: JobID?) async throws(StoreError) {
        // Pages are small, since each of many readers keeps one until it has read all of it.
        var filter = JobFilter(after: last, order: .oldestFirst, limit: 64)
        filter.pageBytes = 8 << 10
        switch scope {
        case .job(let id):
            if let job = try await store.job(id) { append(job) }
            return try await endListing()
        case .graph(let id): filter.graph = id
        case .all: filter.states = [.running]
        }
        let page = try await store.jobs(filter)
        for job in page.reversed() { append(job) }
        if filter.mayContinue(after: page) { phase = .listing(after: page.last?.id) } else { try await endListing() }
    }

    private func endListing() async throws(StoreError) {
        phase = .live
        try await endIfFinal()
    }

    private func take(_ item: WatchMailbox.Item) async throws(StoreError) {
        switch item {
        case .job(let id):
            if let job = try await store.job(id) { append(job) } else { open.remove(id) }
            if open.isEmpty { try await endIfFinal() }
        case .progress(let id, let progress):
            if attempts[id] == nil, let job = try await store.job(id), job.state == .running {
                attempts[id] = job.attempt
            }
            guard let attempt = attempts[id] else { return }
            unread.append(.progress(job: id, attempt: attempt, progress))
        case .overflow:
            unread.append(.missed)
            open = []
            attempts = [:]
            phase = .listing(after: nil)
        }
    }

    /// Adds the event of a job. ``next()`` takes events from the end of the array.
    private func append(_ job: JobRecord) {
        unread.append(.job(job))
        attempts[job.id] = job.state == .running ? job.attempt : nil
        if scope == .all { return }
        if job.state.isFinal { open.remove(job.id) } else { open.insert(job.id) }
    }

    /// Ends the watch if everything in scope is final (3). A graph may have new children that were not reported
    /// yet; its record counts them.
    private func endIfFinal() async throws(StoreError) {
        guard open.isEmpty else { return }
        switch scope {
        case .all: return
        case .job: break
        case .graph(let id):
            if let graph = try await store.graph(id), graph.finishedAt == nil { return }
        }
        phase = .ended
        unread.insert(.final, at: 0)
    }
}
