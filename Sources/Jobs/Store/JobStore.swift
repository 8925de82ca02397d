/// Where jobs live.
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
    /// callers do not wait. Some jobs may run before all are written. This returns when all are written.
    ///
    /// A job starts as `blocked` while a dependency is open, else as `scheduled` when its time is still to come, else as
    /// `ready`; it is `skipped` at once when a dependency has already failed its condition.
    func enqueue(_ graphs: [NewGraph], now: Timestamp) async throws(StoreError) -> [EnqueueOutcome]

    /// Records the ends of attempts, makes due jobs ready, and claims jobs, in one transaction.
    ///
    /// A claim takes from each queue that is not paused and is below its limit; between queues by weight, within a queue
    /// by priority (lifted by ageing) and then by number.
    ///
    /// - Parameter claim: Nil to claim nothing.
    func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, now: Timestamp
    ) async throws(StoreError) -> Exchange

    /// Returns every running job: the process that ran it is gone. Only to be called before the first claim.
    ///
    /// Jobs that were running in several crashes in a row are claimed first and apart from others (``CrashTrials``).
    ///
    /// - Parameter maxRescues: A job that was the only running one in more crashes than this is failed with `crashed`.
    func rescueOrphans(maxRescues: Int, now: Timestamp) async throws(StoreError) -> RescueReport

    /// Cancels jobs that have not started, and asks for the cancellation of running ones. Results are in order.
    func cancel(_ jobs: [JobID], now: Timestamp) async throws(StoreError) -> [CancelResult]

    /// The same for every open job of a graph. Nil when there is no such graph.
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
    ///   - limit: Ends the step at so many jobs; a graph is never divided.
    func prune(_ request: PruneRequest, below: JobID?, limit: Int) async throws(StoreError) -> PruneStep

    // MARK: Settings

    func change(_ queue: QueueChange, now: Timestamp) async throws(StoreError) -> QueueRecord
    /// Removes a queue that nothing uses; its final jobs stay and go on naming it. ``change(_:now:)-(QueueChange,_)``
    /// makes one of the same name as if it were new, and so does the end of an attempt whose children name it.
    func removeQueue(_ name: String, now: Timestamp) async throws(StoreError) -> QueueRemoval
    func change(_ definitions: DefinitionChange, now: Timestamp) async throws(StoreError)
    /// Records what the daemon's kinds are, for people and for checks where their code is not linked.
    func register(_ kinds: [KindDescription], now: Timestamp) async throws(StoreError)
    /// Records by name why definitions or graph definitions cannot be used; clears it for all others.
    func recordProblems(_ problems: [String: String]) async throws(StoreError)

    // MARK: Schedules

    /// Every schedule, in order of name.
    func schedules() async throws(StoreError) -> [ScheduleRecord]
    func schedule(_ name: String) async throws(StoreError) -> ScheduleRecord?
    /// Those whose next time has come, the longest ago first.
    func schedules(due now: Timestamp, limit: Int) async throws(StoreError) -> [ScheduleRecord]
    /// When the next of them comes.
    func nextScheduleAt() async throws(StoreError) -> Timestamp?
    /// How many have a ``ScheduleRecord/problem``.
    func refusedScheduleCount() async throws(StoreError) -> Int
    /// Says when schedules come next; each that is not as it was read is left as it is. Observers are not told.
    func plan(_ timings: [ScheduleTiming]) async throws(StoreError)
    /// Enqueues what a schedule asks for and moves it on, in one transaction: never twice for one time, and never one
    /// without the other.
    func fire(_ firing: ScheduleFiring, now: Timestamp) async throws(StoreError) -> FiringOutcome
    /// Enqueues it now as well, paused or not; its times stay as they are. Nil when there is no such schedule.
    func run(schedule name: String, _ graph: NewGraph, now: Timestamp) async throws(StoreError) -> EnqueueOutcome?
    /// While it is paused its times do not count; they count again from `now` when that ends. Nil when there is no such
    /// schedule.
    func setPaused(_ isPaused: Bool, schedule name: String, now: Timestamp) async throws(StoreError) -> ScheduleRecord?

    // MARK: Reading

    /// The current revisions, in order of name.
    func definitions() async throws(StoreError) -> DefinitionSet
    /// Any revision, also one that was replaced or removed.
    func definition(_ id: DefinitionID) async throws(StoreError) -> StoredDefinition?
    /// What ``enqueue(_:now:)`` answers to any graph with this key; nil while the key is unused.
    func outcome(of key: IdempotencyKey) async throws(StoreError) -> EnqueueOutcome?
    func job(_ id: JobID) async throws(StoreError) -> JobRecord?
    /// The first page of the jobs that a filter selects; ``JobListing`` reads all pages.
    func page(_ filter: JobFilter) async throws(StoreError) -> JobPage
    func result(of job: JobID) async throws(StoreError) -> JobResult?
    /// Attempts that ended, first to last; only the last ``AttemptRecord/maxWithConnections`` with their connections.
    func attempts(of job: JobID) async throws(StoreError) -> [AttemptRecord]
    /// What it depends on, in declared order.
    ///
    /// - Parameter onlyOpen: Only what is not final, which is what a blocked job waits for.
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) async throws(StoreError) -> Neighbours
    /// What depends on it: first what needs its success, then what needs its end, each in order of number.
    func dependents(of job: JobID, limit: Int) async throws(StoreError) -> [Neighbour]
    /// What its dependencies gave, in declared order; nothing of one that did not succeed.
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) async throws(StoreError) -> DependencyOutputs
    func graph(_ id: GraphID) async throws(StoreError) -> GraphRecord?
    /// Newest first.
    func graphs(limit: Int, before: GraphID?) async throws(StoreError) -> [GraphRecord]
    /// Edges whose dependent is in the graph, in order of the dependent and its declaration.
    ///
    /// - Parameter after: The page begins after this edge; nil for the first page.
    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) async throws(StoreError) -> EdgePage
    func queues() async throws(StoreError) -> [QueueRecord]
    /// Of every job there is, also in queues that were removed.
    func counts() async throws(StoreError) -> StateCounts
    /// When the next scheduled job is due.
    func nextDueAt() async throws(StoreError) -> Timestamp?

    // MARK: Observing

    /// Calls `observer` after each commit that changed something, in the order of the commits, until the observation is
    /// cancelled or dropped; and once when the store stops by itself. It must return quickly and must not wait for the store.
    func observe(_ observer: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation
}

extension JobStore {
    /// A whole listing, up to the filter's limits; see ``JobFilter/mayGoOn(after:)``.
    public func jobs(_ filter: JobFilter) async throws(StoreError) -> [JobRecord] {
        var listing = JobListing(filter)
        var jobs: [JobRecord] = []
        repeat { jobs += try await listing.next(from: self) } while !listing.isOver
        return jobs
    }

    /// Every edge whose dependent is in the graph.
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

    /// After this returns the observer may be running one last time.
    public func cancel() { onCancel() }

    deinit { onCancel() }
}
