/// The storage of jobs.
///
/// Every write is atomic and durable when it returns, and observers are notified after that. Callers pass their clock's
/// time; the store itself measures only the length of waits, on a ``StoreClock``. Writes of several callers may share
/// one commit.
///
/// Invariants, cited by code and tests:
/// - P2: a final state never changes.
/// - P3: at most one result for a job; a finish names job, attempt and state, and a stale one changes nothing.
/// - P4: result, end of attempt, unblocking of dependents and children are one transaction. If very many dependents
///   wait for one job, the transaction releases some of them and records the rest, which later transactions release.
public protocol JobStore: Sendable {
    // MARK: Jobs

    /// Accepts graphs, each completely or not at all. The outcomes are in the order of `graphs`.
    ///
    /// The jobs of a very large graph are written in several transactions after the one that accepts it, so that other
    /// callers do not wait. Some jobs may run before all are written. This returns when all are written. If it throws
    /// because of such a graph, graphs beside it may already be stored.
    ///
    /// A job starts as `blocked` if a dependency is open, otherwise as `scheduled` if its time is in the future,
    /// otherwise as `ready`. It is `skipped` at once if a dependency has already failed its condition.
    func enqueue(_ graphs: [NewGraph], now: Timestamp) async throws(StoreError) -> [EnqueueOutcome]

    /// Records the ends of attempts, makes due jobs ready, and claims jobs, in one transaction.
    ///
    /// Very many children of an attempt are stored before that transaction, which accepts them, and written after it. To
    /// keep other ends and claims from waiting for that, call ``prepare(_:)`` first.
    ///
    /// A claim takes from each queue that is not paused and is below its limit; between queues by weight, within a queue
    /// by priority (lifted by ageing) and then by number.
    ///
    /// - Parameter claim: Nil to claim nothing.
    func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, now: Timestamp
    ) async throws(StoreError) -> Exchange

    /// Stores the children of an attempt ahead of the exchange that records its end, which then takes no longer because of
    /// them. The exchange accepts or drops them; if there is none, the next start does.
    ///
    /// - Returns: Nil if the store does not do this. The exchange alone is as good, but may take longer.
    func prepare(_ children: [NewGraph]) async throws(StoreError) -> PreparedChildren?

    /// Ends the attempts of all running jobs, since the process that ran them is gone. Call it only before the first claim.
    ///
    /// Jobs that were running in several crashes in a row are claimed first and apart from other jobs
    /// (``CrashTrials``).
    ///
    /// - Parameters:
    ///   - maxRescues: A job that was the only running one in more crashes than this is failed with `crashed`. An unexplained
    ///     end counts as a tenth of a crash (``LastEnd/unexplainedPerCrash``); a restart of the machine does not count.
    ///   - lastEnd: How the process ended that ran the orphans.
    func rescueOrphans(
        maxRescues: Int, after lastEnd: LastEnd, now: Timestamp
    ) async throws(StoreError) -> RescueReport

    /// Notes how many attempts were given up while their code still runs. If the process ends beside such code, no job
    /// counts as the only running one. The note is kept until the next rescue.
    func noteAbandoned(_ count: Int)

    /// The trials that keep other jobs from starting; nil when there are none.
    func trials(now: Timestamp) async throws(StoreError) -> CrashTrials.Report?

    /// Cancels jobs that have not started, and requests the cancellation of running jobs. The results are in order.
    func cancel(_ jobs: [JobID], now: Timestamp) async throws(StoreError) -> [CancelResult]

    /// Cancels every open job of a graph in the same way. Returns nil if there is no such graph.
    ///
    /// The request is durable at once. Very many jobs are then cancelled in several transactions, and none of them
    /// starts meanwhile. This returns when all are cancelled.
    func cancel(graph: GraphID, now: Timestamp) async throws(StoreError) -> [JobID: CancelResult]?

    /// Deletes finished jobs with their results, attempts and edges, the newest first. To delete all, continue from
    /// each step's ``PruneStep/next`` until that is nil. A very large graph is deleted in several transactions; from
    /// the first one on, no new job may depend on its jobs.
    ///
    /// - Parameters:
    ///   - below: Only jobs with lower numbers.
    ///   - limit: The number of jobs after which the step ends; a graph is never divided.
    func prune(_ request: PruneRequest, below: JobID?, limit: Int) async throws(StoreError) -> PruneStep

    // MARK: Settings

    func change(_ queue: QueueChange, now: Timestamp) async throws(StoreError) -> QueueRecord
    /// Removes an unused queue. Its final jobs stay and still name it. ``change(_:now:)-(QueueChange,_)`` creates a new
    /// queue of the same name, and so does the end of an attempt whose children name it.
    func removeQueue(_ name: String, now: Timestamp) async throws(StoreError) -> QueueRemoval
    func change(_ definitions: DefinitionChange, now: Timestamp) async throws(StoreError)
    /// Stores the descriptions of the daemon's kinds, for people and for programs that check inputs without the kinds'
    /// code.
    func register(_ kinds: [KindDescription], now: Timestamp) async throws(StoreError)
    /// Stores by name why definitions or graph definitions are unusable, and clears the problems of all others.
    func recordProblems(_ problems: [String: String]) async throws(StoreError)

    // MARK: Schedules

    /// All schedules, ordered by name.
    func schedules() async throws(StoreError) -> [ScheduleRecord]
    func schedule(_ name: String) async throws(StoreError) -> ScheduleRecord?
    /// The schedules whose next time has come, the earliest time first.
    func schedules(due now: Timestamp, limit: Int) async throws(StoreError) -> [ScheduleRecord]
    /// The next time of any schedule.
    func nextScheduleAt() async throws(StoreError) -> Timestamp?
    /// The number of schedules with a ``ScheduleRecord/problem``.
    func refusedScheduleCount() async throws(StoreError) -> Int
    /// Sets the next times of schedules. A schedule that has changed since it was read is left unchanged. Observers are
    /// not told.
    func plan(_ timings: [ScheduleTiming]) async throws(StoreError)
    /// Enqueues a schedule's work and moves the schedule to its next time in one transaction: never twice for one time,
    /// and never one without the other.
    func fire(_ firing: ScheduleFiring, now: Timestamp) async throws(StoreError) -> FiringOutcome
    /// Enqueues a schedule's work now, even if the schedule is paused. Its times do not change. Returns nil if there is
    /// no such schedule.
    func run(schedule name: String, _ graph: NewGraph, now: Timestamp) async throws(StoreError) -> EnqueueOutcome?
    /// Pauses or resumes a schedule. Times during the pause are skipped; after a resume, times from `now` on count.
    /// Returns nil if there is no such schedule.
    func setPaused(_ isPaused: Bool, schedule name: String, now: Timestamp) async throws(StoreError) -> ScheduleRecord?

    // MARK: Reading

    /// The current revisions, ordered by name.
    func definitions() async throws(StoreError) -> DefinitionSet
    /// A revision of a definition, even if it was replaced or removed.
    func definition(_ id: DefinitionID) async throws(StoreError) -> StoredDefinition?
    /// The answer of ``enqueue(_:now:)`` to any graph with this key; nil if the key is unused.
    func outcome(of key: IdempotencyKey) async throws(StoreError) -> EnqueueOutcome?
    func job(_ id: JobID) async throws(StoreError) -> JobRecord?
    /// The accepted jobs of very large requests that have an input and no record yet. Later ones are reported as
    /// ``StoreChange/accepted(_:)``.
    func unwritten(from position: UnwrittenPage.Position?) async throws(StoreError) -> UnwrittenPage
    /// The first page of the jobs that a filter selects; ``JobListing`` reads all pages.
    func page(_ filter: JobFilter) async throws(StoreError) -> JobPage
    func result(of job: JobID) async throws(StoreError) -> JobResult?
    /// The ended attempts, from first to last. Only the last ``AttemptRecord/maxWithConnections`` contain their
    /// connections.
    func attempts(of job: JobID) async throws(StoreError) -> [AttemptRecord]
    /// The dependencies of a job, in declared order.
    ///
    /// - Parameter onlyOpen: Whether to return only open dependencies, for which a blocked job waits.
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) async throws(StoreError) -> Neighbours
    /// The dependents of a job: first those that need its success, then those that need its end, each in order of
    /// number.
    func dependents(of job: JobID, limit: Int) async throws(StoreError) -> [Neighbour]
    /// The outputs of a job's dependencies, in declared order, without those of dependencies that did not succeed.
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) async throws(StoreError) -> DependencyOutputs
    func graph(_ id: GraphID) async throws(StoreError) -> GraphRecord?
    /// Graphs, the newest first.
    func graphs(limit: Int, before: GraphID?) async throws(StoreError) -> [GraphRecord]
    /// The edges whose dependent is in the graph, in order of dependent and declaration.
    ///
    /// - Parameter after: The page begins after this edge; nil for the first page.
    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) async throws(StoreError) -> EdgePage
    func queues() async throws(StoreError) -> [QueueRecord]
    /// The counts of all jobs, including jobs in removed queues.
    func counts() async throws(StoreError) -> StateCounts
    /// The time at which the next scheduled job is due.
    func nextDueAt() async throws(StoreError) -> Timestamp?

    // MARK: Observing

    /// Calls `observer` after each commit that changed something, in the order of the commits, until the observation is
    /// cancelled or dropped; and once when the store stops by itself. It must return quickly and must not wait for the store.
    func observe(_ observer: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation
}

extension JobStore {
    public func unwritten(from position: UnwrittenPage.Position?) async throws(StoreError) -> UnwrittenPage {
        UnwrittenPage(jobs: [], next: nil)
    }

    public func prepare(_ children: [NewGraph]) async throws(StoreError) -> PreparedChildren? { nil }

    /// The same where nothing is known about the last end.
    public func rescueOrphans(maxRescues: Int, now: Timestamp) async throws(StoreError) -> RescueReport {
        try await rescueOrphans(maxRescues: maxRescues, after: .unexplained, now: now)
    }

    /// Reads a complete listing up to the filter's limits; see ``JobFilter/mayGoOn(after:)``.
    public func jobs(_ filter: JobFilter) async throws(StoreError) -> [JobRecord] {
        var listing = JobListing(filter)
        var jobs: [JobRecord] = []
        repeat { jobs += try await listing.next(from: self) } while !listing.isOver
        return jobs
    }

    /// All edges whose dependent is in the graph.
    public func edges(of graph: GraphID) async throws(StoreError) -> [DependencyRecord] {
        var edges: [DependencyRecord] = []
        var next: EdgePosition?
        repeat {
            let page = try await self.edges(of: graph, after: next, limit: EdgePage.maxEdges)
            edges += page.edges
            next = page.next
        } while next != nil
        return edges
    }
}

/// Ends an observation when cancelled or dropped.
public final class StoreObservation: Sendable {
    private let onCancel: @Sendable () -> Void

    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Cancels the observation. The observer may still be running one last time when this returns.
    public func cancel() { onCancel() }

    deinit { onCancel() }
}
