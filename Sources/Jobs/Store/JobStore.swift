/// The storage of jobs.
///
/// Every write is atomic, and durable when the call returns. Observers are notified after that. Callers pass the
/// store's time, which is their own wall clock plus ``clockOffset``. A store with a clock of its own ignores the passed
/// time; any other store measures only the length of waits itself, on a ``StoreClock``. Writes of several callers may
/// share one commit.
///
/// A process that runs jobs is a holder (``Holder``). It begins a life, renews it if the life has a length, and claims
/// and ends attempts under its number. Other processes read and write without one.
///
/// Nearly every method throws ``StoreError``. Unless the case or the method says otherwise, nothing was written;
/// ``StoreError/isTransient`` says whether to retry.
///
/// Invariants, cited by code and tests:
/// - P2: a final state never changes.
/// - P3: a job has at most one result. Finishing names the job, the attempt and the state, and changes nothing if the
///   attempt is no longer the current one.
/// - P4: the result, the end of the attempt, the unblocking of dependents and the children are one transaction. If very
///   many dependents wait for one job, the transaction releases some of them and records the rest, which later
///   transactions release.
/// - H1 to H3: ``HolderLife``.
public protocol JobStore: Sendable {
    /// The properties in which this store differs from others.
    var capabilities: StoreCapabilities { get }

    /// How far the store's clock is ahead of this machine's wall clock, as last measured. Zero if the store uses the
    /// callers' time.
    var clockOffset: Duration { get }

    // MARK: Holders

    /// Begins a life of a holder, and ends every earlier life of the same identity, whose process must be gone. A store
    /// for one holder also ends the lives of all other identities.
    ///
    /// The jobs of ended lives keep running until ``rescue(_:by:now:)`` returns them. Observers of other holders are
    /// notified with ``StoreChange/holders``.
    ///
    /// - Throws: ``StoreError``. Retrying is safe. ``StoreError/identityInUse(host:)`` if a life of the same identity
    ///   lasts on another machine or in another home (``Holder/machine``).
    func begin(_ holder: Holder, now: Timestamp) async throws(StoreError) -> HolderLife

    /// Makes a life last on. Call it each third of ``HolderLife/length``, if the life has one.
    ///
    /// - Returns: ``Renewal/ended`` if the life has ended, which is ordinary after an interruption: the caller begins a
    ///   new one (H1).
    /// - Throws: ``StoreError``. Retrying is safe.
    func renew(_ holder: HolderID, now: Timestamp) async throws(StoreError) -> Renewal

    /// Ends a life at once. Other holders may rescue its running jobs from then on; a holder that drained has none.
    ///
    /// - Throws: ``StoreError``. Retrying is safe; a life that has ended is not an error.
    func leave(_ holder: HolderID, now: Timestamp) async throws(StoreError)

    /// Drains a holder or resumes it. A drained holder claims nothing, in this life and in later ones; its running jobs
    /// continue. Observers are notified with ``StoreChange/holders``.
    ///
    /// - Returns: False if no holder ever had this identity, or if the store has one holder at a time.
    /// - Throws: ``StoreError``. Retrying is safe.
    func setDrained(_ isDrained: Bool, identity: String, now: Timestamp) async throws(StoreError) -> Bool

    /// Reads all lives that last, and for each other identity its last life if that ended within a day, ordered by
    /// number.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func holders() async throws(StoreError) -> [HolderRecord]

    /// Ends the attempts of the jobs whose holder's life has ended (H2), and returns the jobs to their queues. Call it
    /// before the first claim of a life, and whenever ``HolderLife/hasOrphans`` or ``StoreChange/holders`` asks for it.
    /// Rescues by several holders never return the same job twice.
    ///
    /// Jobs that were running in several crashes in a row are claimed first and run apart from other jobs
    /// (``CrashTrials``).
    ///
    /// - Throws: ``StoreError``. No attempt was ended; calling again is safe.
    func rescue(_ request: RescueRequest, by holder: HolderID, now: Timestamp) async throws(StoreError) -> RescueReport

    /// Reads the running jobs of a holder, ordered by number, as they were claimed. It answers only after every
    /// earlier exchange of this holder has been committed or undone, so it settles one that ended with
    /// ``StoreError/unanswered(server:message:)``.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func held(by holder: HolderID) async throws(StoreError) -> [ClaimedJob]

    /// Records how many attempts of a holder are abandoned while their code still runs. If the process ends while such
    /// code is running, no job counts as the only running one. The record is kept until the next rescue.
    func noteAbandoned(_ count: Int, by holder: HolderID)

    // MARK: Jobs

    /// Accepts graphs, each of them completely or not at all.
    ///
    /// A job starts as `blocked` if a dependency is open, otherwise as `scheduled` if its time is in the future,
    /// otherwise as `ready`. It is `skipped` at once if a dependency has already failed to meet its condition.
    ///
    /// The jobs of a very large graph are written in several transactions after the one that accepts it, so that other
    /// callers do not wait. Some of the jobs may run before all are written. This method returns when all are written.
    ///
    /// - Returns: The outcomes, in the order of `graphs`.
    /// - Throws: ``StoreError``. If a very large graph could not be stored, other graphs of the same call may be stored
    ///   nevertheless. Repeating the request is safe with an idempotency key.
    func enqueue(_ graphs: [NewGraph], now: Timestamp) async throws(StoreError) -> [EnqueueOutcome]

    /// Records the ends of a holder's attempts, makes due jobs ready, and claims jobs for it, in one transaction.
    ///
    /// If the holder's life has ended, nothing is claimed, and ``Exchange/isAlive`` is false. The ends of its jobs are
    /// recorded nevertheless, unless they were rescued (H3).
    ///
    /// If an attempt has very many children, they are stored before that transaction, which accepts them, and written
    /// after it. Other ends and claims have to wait for that; to avoid this, call ``prepare(_:)`` first.
    ///
    /// A claim considers every queue that is not paused and is below its limit. It divides the slots between queues by
    /// weight. Within a queue it takes jobs by priority, as raised by ageing, and then by number. It skips jobs without
    /// room (``ClaimRequest/room``); a queue whose jobs all lack room takes no share of the slots. If it skips very many
    /// jobs, it ends early, and ``Exchange/nextDueAt`` asks for another claim.
    ///
    /// - Parameter claim: The jobs wanted; nil to claim nothing.
    /// - Returns: The results for `ends`, in order, and the claimed jobs. An end may be refused with
    ///   ``FinishResult/leaseLost``, which is ordinary.
    /// - Throws: ``StoreError``. Passing the same ends again is safe: if an end was recorded after all, its result is
    ///   ``FinishResult/leaseLost``.
    func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> Exchange

    /// Saves checkpoints of a holder's running attempts, in one transaction. Each replaces the former checkpoint of its
    /// job; of two for one job, the later one stays.
    ///
    /// A checkpoint stays until the job is final. Every later claim returns it (``ClaimedJob/checkpoint``), also to other
    /// holders. Observers are not notified.
    ///
    /// - Parameter checkpoints: The attempts and their data, each at most ``Checkpoint/maxBytes``.
    /// - Returns: The results, in order. ``SaveResult/leaseLost`` is ordinary. As for ends, an attempt has its lease until
    ///   its job is rescued (H3).
    /// - Throws: ``StoreError``. Retrying is safe.
    func save(
        _ checkpoints: [CheckpointSave], by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> [SaveResult]

    /// Saves the children of an attempt before the exchange that records its end, so that the exchange does not take
    /// longer because of them. The exchange accepts or drops the children. If no exchange follows, the next start drops
    /// them.
    ///
    /// - Returns: The value for ``AttemptEnd/prepared``. Nil if the store does not support this; the exchange then does
    ///   all the work and may take longer.
    /// - Throws: ``StoreError``. The exchange can still record the end, without prepared children.
    func prepare(_ children: [NewGraph]) async throws(StoreError) -> PreparedChildren?

    /// The crash trials that keep other jobs from starting; nil if there are none.
    ///
    /// - Throws: ``StoreError``. Asking again is safe.
    func trials(now: Timestamp) async throws(StoreError) -> CrashTrials.Report?

    /// Cancels jobs that have not started, and requests the cancellation of running jobs.
    ///
    /// Very many jobs are cancelled in several transactions.
    ///
    /// - Returns: The results, in the order of `jobs`. A job that has already ended is not an error.
    /// - Throws: ``StoreError``. Retrying is safe; of very many jobs, some may already be cancelled.
    func cancel(_ jobs: [JobID], now: Timestamp) async throws(StoreError) -> [CancelResult]

    /// Cancels every open job of a graph in the same way as ``cancel(_:now:)``.
    ///
    /// The request is durable at once. If there are very many jobs, they are cancelled in several transactions, and
    /// none of them starts in the meantime. This method returns when all are cancelled.
    ///
    /// - Returns: The result for each job that was open. Nil if there is no such graph.
    /// - Throws: ``StoreError``. Retrying is safe; some jobs may already be cancelled.
    func cancel(graph: GraphID, now: Timestamp) async throws(StoreError) -> [JobID: CancelResult]?

    /// Deletes finished jobs with their results, attempts and edges, the newest jobs first. To delete all, call it
    /// again with each step's ``PruneStep/next`` until that is nil. A very large graph is deleted in several
    /// transactions; from the first one on, no new job may depend on its jobs.
    ///
    /// - Parameters:
    ///   - below: The step checks only jobs with lower numbers; nil for all jobs.
    ///   - limit: The number of jobs after which the step ends. The step may delete more: a graph is never split, and a
    ///     store may delete many jobs in one operation.
    /// - Throws: ``StoreError``. Retrying the step is safe.
    func prune(_ request: PruneRequest, below: JobID?, limit: Int) async throws(StoreError) -> PruneStep

    // MARK: Settings

    /// Changes a queue's limit, weight or pause. A queue that does not exist is created.
    ///
    /// - Parameter version: The version of the settings with which the change was checked; nil if the change is valid
    ///   whatever they are.
    /// - Returns: The queue after the change, or ``ChangeOutcome/outdated``.
    /// - Throws: ``StoreError``. Retrying is safe.
    func change(
        _ queue: QueueChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<QueueRecord>
    /// Removes an unused queue. Its final jobs stay and still name it. ``change(_:now:)-(QueueChange,_)`` can create a
    /// new queue of the same name, and so can the end of an attempt whose children name it.
    ///
    /// - Returns: ``QueueRemoval/used(_:)`` if the queue is in use; nothing was changed then.
    /// - Throws: ``StoreError``. Retrying is safe.
    func removeQueue(_ name: String, now: Timestamp) async throws(StoreError) -> QueueRemoval
    /// Writes definitions, schedules and queues in one transaction. Check the change with ``Catalog/check(_:)`` first.
    ///
    /// - Parameter version: ``DefinitionSet/version`` of the definitions with which the change was checked; nil if the
    ///   change is valid whatever they are.
    /// - Returns: The new version, or ``ChangeOutcome/outdated``.
    /// - Throws: ``StoreError``, also ``StoreError/tooManySchedules(limit:)``. Retrying is safe.
    func change(
        _ definitions: DefinitionChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<SettingsVersion>
    /// Replaces the descriptions of the kinds that a holder runs, and leaves those of other holders unchanged. They are
    /// shown to people, and programs without the kinds' code use them to check inputs.
    ///
    /// The descriptions belong to the holder's identity: they stay after its life and are replaced by a later one's.
    /// If several holders describe a kind, the last registration counts.
    ///
    /// - Throws: ``StoreError``. Retrying is safe.
    func register(_ kinds: [KindDescription], by holder: HolderID, now: Timestamp) async throws(StoreError)
    /// Stores why a holder cannot use definitions or graph definitions, and clears the holder's other problems. The
    /// problems of other holders stay. They belong to the holder's identity, as kinds do.
    ///
    /// - Parameter problems: The reasons, by the name of the definition or graph definition.
    /// - Throws: ``StoreError``. Retrying is safe.
    func recordProblems(_ problems: [String: String], by holder: HolderID) async throws(StoreError)

    // MARK: Schedules

    /// Reads all schedules, ordered by name.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func schedules() async throws(StoreError) -> [ScheduleRecord]
    /// Reads one schedule; nil if there is none of this name.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func schedule(_ name: String) async throws(StoreError) -> ScheduleRecord?
    /// Reads the schedules that are due, the earliest next time first.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func schedules(due now: Timestamp, limit: Int) async throws(StoreError) -> [ScheduleRecord]
    /// The earliest next time of all schedules; nil if none has one.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func nextScheduleAt() async throws(StoreError) -> Timestamp?
    /// The number of schedules with a ``ScheduleRecord/problem``.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func refusedScheduleCount() async throws(StoreError) -> Int
    /// Sets the next times of schedules. Skips schedules that have changed since they were read. Observers are not
    /// notified.
    ///
    /// - Throws: ``StoreError``. Retrying is safe.
    func plan(_ timings: [ScheduleTiming]) async throws(StoreError)
    /// Enqueues a schedule's work and moves the schedule to its next time, in one transaction. The work is therefore
    /// never enqueued twice for the same time.
    ///
    /// - Returns: ``FiringOutcome/stale`` if the schedule has changed since it was read, which is ordinary: read it
    ///   again.
    /// - Throws: ``StoreError``. Retrying is safe.
    func fire(_ firing: ScheduleFiring, now: Timestamp) async throws(StoreError) -> FiringOutcome
    /// Enqueues a schedule's work now, even if the schedule is paused. Its times do not change.
    ///
    /// - Returns: Nil if there is no such schedule.
    /// - Throws: ``StoreError``. Retrying is safe except after ``StoreError/commitUnknown(code:message:)``, when the
    ///   work may already be enqueued.
    func run(schedule name: String, _ graph: NewGraph, now: Timestamp) async throws(StoreError) -> EnqueueOutcome?
    /// Pauses or resumes a schedule. Times during the pause are skipped: after a resume, the next time is the first one
    /// after `now`.
    ///
    /// - Returns: The schedule after the change; nil if there is no such schedule.
    /// - Throws: ``StoreError``. Retrying is safe.
    func setPaused(_ isPaused: Bool, schedule name: String, now: Timestamp) async throws(StoreError) -> ScheduleRecord?

    // MARK: Reading

    /// Reads the current revisions of all definitions, and the kinds, queues and schedules, each ordered by name.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func definitions() async throws(StoreError) -> DefinitionSet
    /// Reads the kinds that the holder of this identity registered last (``register(_:by:now:)``), in order of name. A
    /// store with one holder at a time ignores the identity, and returns the kinds of its last holder.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func kinds(registeredBy identity: String) async throws(StoreError) -> [KindDescription]
    /// Reads one revision of a definition, even if it was replaced or removed. Nil if there is none with this number.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func definition(_ id: DefinitionID) async throws(StoreError) -> StoredDefinition?
    /// The outcome that ``enqueue(_:now:)`` would return for any graph with this key; nil if the key is unused.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func outcome(of key: IdempotencyKey) async throws(StoreError) -> EnqueueOutcome?
    /// Reads one job; nil if there is none with this number.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func job(_ id: JobID) async throws(StoreError) -> JobRecord?
    /// Reads the only holder that can run a job, since it has a file that the job needs; nil if every holder can. Such a
    /// file is one that the input names (``SpooledFile``), or the result of a dependency.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func home(of job: JobID) async throws(StoreError) -> JobHome?
    /// Reads which of these jobs exist. Default: one read for each.
    ///
    /// - Parameter jobs: At most some thousand.
    /// - Throws: ``StoreError``; reading again is safe.
    func existing(_ jobs: [JobID]) async throws(StoreError) -> Set<JobID>
    /// Reads a page of the accepted jobs that have an input but no record yet, since they belong to very large
    /// requests. Jobs accepted later are reported as ``StoreChange/accepted(_:)``.
    ///
    /// - Parameter position: The position at which the page begins; nil for the first page.
    /// - Throws: ``StoreError``; reading again is safe.
    func unwritten(from position: UnwrittenPage.Position?) async throws(StoreError) -> UnwrittenPage
    /// Reads the first page of the jobs that a filter selects. ``JobListing`` reads all pages.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func page(_ filter: JobFilter) async throws(StoreError) -> JobPage
    /// Reads a job's result; nil if the job is not final or does not exist.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func result(of job: JobID) async throws(StoreError) -> JobResult?
    /// Reads a job's ended attempts, from first to last. Only the last ``AttemptRecord/maxWithConnections`` of them
    /// contain their connections.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func attempts(of job: JobID) async throws(StoreError) -> [AttemptRecord]
    /// Reads a job's checkpoint; nil if no attempt has saved one or the job is final.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func checkpoint(of job: JobID) async throws(StoreError) -> Checkpoint?
    /// Reads the dependencies of a job, in declared order.
    ///
    /// - Parameters:
    ///   - onlyOpen: Whether to return only dependencies that are not final, for which a blocked job waits.
    ///   - limit: The maximum number to return.
    /// - Throws: ``StoreError``; reading again is safe.
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) async throws(StoreError) -> Neighbours
    /// Reads the dependents of a job: first those that require its success, then those that require only its end, each
    /// group ordered by number.
    ///
    /// - Parameter limit: The maximum number to return.
    /// - Throws: ``StoreError``; reading again is safe.
    func dependents(of job: JobID, limit: Int) async throws(StoreError) -> [Neighbour]
    /// Reads the outputs of a job's dependencies, in declared order. Dependencies that did not succeed are left out.
    ///
    /// - Parameters:
    ///   - wanted: The outputs that the job's kind can use.
    ///   - maxBytes: The maximum size of all outputs together.
    /// - Returns: ``DependencyOutputs/tooLarge`` if the outputs exceed `maxBytes`.
    /// - Throws: ``StoreError``; reading again is safe.
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) async throws(StoreError) -> DependencyOutputs
    /// Reads one graph; nil if there is none with this number.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func graph(_ id: GraphID) async throws(StoreError) -> GraphRecord?
    /// Reads graphs, the newest first.
    ///
    /// - Parameters:
    ///   - limit: The maximum number to return.
    ///   - before: Only graphs with lower numbers; nil for the newest.
    /// - Throws: ``StoreError``; reading again is safe.
    func graphs(limit: Int, before: GraphID?) async throws(StoreError) -> [GraphRecord]
    /// Reads a page of the edges whose dependent is in the graph, ordered by dependent and then as declared.
    ///
    /// - Parameters:
    ///   - after: The edge after which the page begins; nil for the first page.
    ///   - limit: The maximum number to return, at most ``EdgePage/maxEdges``.
    /// - Throws: ``StoreError``; reading again is safe.
    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) async throws(StoreError) -> EdgePage
    /// Reads all queues, ordered by name, without removed ones.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func queues() async throws(StoreError) -> [QueueRecord]
    /// The number of jobs in each state, including jobs in removed queues.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func counts() async throws(StoreError) -> StateCounts
    /// When the next scheduled job is due; nil if none is scheduled.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    func nextDueAt() async throws(StoreError) -> Timestamp?
    /// Whether no job is running and none can start before the next scheduled job is due: no job is due, no job is ready
    /// in a queue that is not paused, and no accepted request is still being written (``StoreCondition/isWorking``). A
    /// job without room in the last claim (``ClaimRequest/room``) can start, because only its runner knows whether
    /// there will be room.
    ///
    /// - Throws: ``StoreError``; asking again is safe.
    func isAtRest(now: Timestamp) async throws(StoreError) -> Bool

    // MARK: Observing

    /// The current condition. Observers are notified when it changes. A new observer should read it once, since it may
    /// have changed before.
    var condition: StoreCondition { get }

    /// Calls `observer` after each commit that changed something, and once more if the store stops by itself. The
    /// observation ends when it is cancelled or dropped. `observer` must return quickly and must not wait for the store.
    ///
    /// A store with one holder calls it in the order of the commits. One with several connections or holders may report
    /// a job's end first and its acceptance later, so an observer that needs the job's state reads it from the store.
    func observe(_ observer: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation
}
