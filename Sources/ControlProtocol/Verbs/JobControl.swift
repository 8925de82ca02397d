import Jobs

/// The verbs of Halyard, which the control socket offers and the command line uses.
///
/// There are two implementations: a client of the daemon's socket, behind which the daemon has a
/// ``StoreControl`` of its store, and, if no daemon runs, a ``StoreControl`` of the database whose lock the
/// caller holds. A change that a verb reports as done survives a power cut.
///
/// Every verb throws ``ControlProblem``. The documentation of a verb names only the codes that are specific to it.
/// In addition, every verb may throw these codes:
///
/// - `unavailable`, `noDaemon` and `permission`: nothing was done, so retrying is safe.
/// - `unknownOutcome`: the verb may or may not have been carried out. A verb that only reads, or that sets a
///   state, can simply be repeated. To repeat `enqueue(_:)` or ``retry(_:dependents:key:)`` safely, use a
///   key.
/// - `storage` and `internal`: the daemon's log says more.
public protocol JobControl: Sendable {
    /// The path of the database, as the program that opened it names it; nil before the daemon's first answer.
    var databasePath: String? { get }

    // MARK: Jobs

    /// Accepts each submission completely or not at all. The answers are in the order of the submissions, and a
    /// refusal does not affect the other submissions.
    ///
    /// If the daemon cannot continue, the submissions that it has accepted stay accepted, and the others are
    /// refused with the reason. Repeating a submission is safe only if it has a key.
    ///
    /// - Throws: ``ControlProblem``. Then no submission is known to be accepted.
    func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer]
    /// Enqueues submissions given as JSON, like `enqueue(_:)`, and returns one answer for each. Invalid JSON
    /// is refused.
    ///
    /// - Throws: ``ControlProblem``, as `enqueue(_:)` does.
    func enqueue(json submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer]
    /// Returns a job with its result, attempts and neighbours.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    func job(_ id: JobID) async throws(ControlProblem) -> JobDetail
    /// Returns the jobs that match a filter, in its order.
    ///
    /// - Throws: ``ControlProblem``, `invalidRequest` if the filter's limit is not 1 to 10,000.
    func jobs(_ filter: JobFilter) async throws(ControlProblem) -> [JobRecord]
    /// Returns the same jobs as ``jobs(_:)``, in pages that are read on demand.
    ///
    /// - Throws: ``ControlProblem``, as ``jobs(_:)`` does.
    func pages(_ filter: JobFilter) async throws(ControlProblem) -> Pages<JobRecord>
    /// Returns the final result; nil if the job is not final.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    func result(_ id: JobID) async throws(ControlProblem) -> JobResult?
    /// Waits for the final result. Returns nil if the job is still not final after `waiting`.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is no such job, `unavailable` if the daemon stops
    ///   during the wait. Repeating the call is safe.
    func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult?
    /// Cancels jobs together, so that none is skipped or started because of another, and returns one answer for
    /// each, in order. An unknown job gets the answer `CancelResult.unknown`.
    ///
    /// A running job is only asked to stop, so it may still succeed. The daemon cancels up to 10,000 jobs
    /// together; a longer list is divided.
    ///
    /// - Throws: ``ControlProblem``, `notFound` for an unknown graph. Repeating the call is safe.
    func cancel(_ target: CancelTarget) async throws(ControlProblem) -> [CancelAnswer]
    /// Enqueues a new job that repeats a finished one, with the stored results of its dependencies as inputs.
    ///
    /// - Parameters:
    ///   - dependents: Whether to also repeat, in the same graph, the dependents that were skipped because of
    ///     the job, and their other dependencies that did not succeed.
    ///   - key: The caller's name for this request, as in `Submission.key`. Repeating the request then
    ///     enqueues nothing more and returns the same receipt. Without a key, repeating it after
    ///     `unknownOutcome` may enqueue the job twice.
    /// - Throws: ``ControlProblem``: `notFound` if there is no such job, `conflict` if it is not final,
    ///   `unmetDependency` if a dependency ended without meeting its condition or was deleted,
    ///   `unknownDefinition` if its definition was removed, `keyReused` if the key belongs to another request,
    ///   `invalidInput` if it needs a file that was removed.
    func retry(_ id: JobID, dependents: Bool, key: String?) async throws(ControlProblem) -> EnqueueReceipt
    /// Explains why a job is not running, or how it ended.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    func why(_ id: JobID) async throws(ControlProblem) -> WaitExplanation
    /// Deletes final jobs permanently, in small transactions, so that running jobs do not wait long.
    ///
    /// If it throws or its task is cancelled, the jobs deleted so far stay deleted. Repeating the call is safe.
    ///
    /// - Returns: The number of deleted jobs, and of jobs that were kept although they match.
    /// - Throws: ``ControlProblem``.
    func prune(_ request: PruneRequest) async throws(ControlProblem) -> PruneAnswer

    // MARK: Graphs

    /// Returns a graph with its jobs and edges.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such graph.
    func graph(_ id: GraphID) async throws(ControlProblem) -> GraphDetail
    /// Returns at most `limit` graphs, the newest first, without their jobs.
    ///
    /// - Parameters:
    ///   - limit: 1 to 10,000.
    ///   - before: Returns only graphs with lower numbers; nil for all.
    /// - Throws: ``ControlProblem``, `invalidRequest` if the limit is out of range.
    func graphs(limit: Int, before: GraphID?) async throws(ControlProblem) -> [GraphRecord]
    /// Returns the same graph as ``graph(_:)``, with its jobs and edges in pages that are read on demand.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such graph.
    func pages(of graph: GraphID) async throws(ControlProblem) -> GraphPages
    /// Returns the same graphs as ``graphs(limit:before:)``, in pages that are read on demand.
    ///
    /// - Throws: ``ControlProblem``, as ``graphs(limit:before:)`` does.
    func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord>

    // MARK: Watching

    /// Returns a stream with the current state of everything in scope, and then every change and the progress
    /// of running attempts. The stream ends when the scope is final (`job`, `graph`) or the caller stops
    /// reading. For `all`, it begins with the running jobs and does not end.
    ///
    /// - Throws: ``ControlProblem``, `notFound` for an unknown job or graph. The stream itself also throws
    ///   ``ControlProblem``: `unavailable` if the daemon stops. Watching again is safe.
    func watch(_ scope: WatchScope) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error>

    // MARK: Queues and definitions

    /// Returns all queues with their settings and counts.
    ///
    /// - Throws: ``ControlProblem``.
    func queues() async throws(ControlProblem) -> [QueueRecord]
    /// Changes the settings of a queue. Repeating the call is safe.
    ///
    /// - Parameter create: Whether to create a queue that does not exist. Otherwise the change is refused.
    /// - Returns: The queue after the change.
    /// - Throws: ``ControlProblem``: `unknownQueue` if the queue does not exist and `create` is false,
    ///   `invalidRequest` if a value is out of range.
    func change(_ queue: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord
    /// Removes a queue. Final jobs of the queue stay. A job that an operation's code enqueues creates the queue
    /// again.
    ///
    /// - Throws: ``ControlProblem``: `unknownQueue` if there is no such queue, `inUse` while open jobs,
    ///   definitions, graph definitions or schedules name it.
    func removeQueue(_ name: String) async throws(ControlProblem)
    /// Returns all kinds, queues, definitions, graph definitions and schedules.
    ///
    /// - Throws: ``ControlProblem``.
    func definitions() async throws(ControlProblem) -> DefinitionSet
    /// Returns only the parts that an enqueue by this name needs: the definition or graph definition, the
    /// definitions of its nodes, and their kinds and queues.
    ///
    /// - Throws: ``ControlProblem``, `unknownDefinition` if there is no definition or graph definition of that
    ///   name.
    func definitions(for name: String) async throws(ControlProblem) -> DefinitionSet
    /// Checks a whole document of definitions and, unless `dryRun` is true, stores all of it in one
    /// transaction. Repeating the call is safe.
    ///
    /// - Returns: One line for each entry of the document, also for unchanged ones.
    /// - Throws: ``ControlProblem``, `invalidDefinitions` if anything in the document is wrong. Then nothing
    ///   was changed.
    func apply(_ document: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine]
    /// Removes a definition or a graph definition. Its jobs stay and continue.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is none of that name, `inUse` while a graph definition
    ///   or a schedule uses it.
    func removeDefinition(_ name: String) async throws(ControlProblem)
    /// Returns all definitions as a document that ``apply(_:dryRun:)`` accepts without changing anything.
    ///
    /// - Throws: ``ControlProblem``.
    func exportDefinitions() async throws(ControlProblem) -> String

    // MARK: Schedules

    /// Returns all schedules, ordered by name.
    ///
    /// - Throws: ``ControlProblem``.
    func schedules() async throws(ControlProblem) -> [ScheduleRecord]
    /// Returns a schedule with its next time and its last job or graph.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such schedule.
    func schedule(_ name: String) async throws(ControlProblem) -> ScheduleRecord
    /// Pauses or resumes a schedule, and returns it. Times that pass while it is paused are skipped and not
    /// made up for. Repeating the call is safe.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such schedule.
    func setPaused(_ isPaused: Bool, schedule name: String) async throws(ControlProblem) -> ScheduleRecord
    /// Enqueues the schedule's work now, even if the schedule is paused or its last job still runs. Its times
    /// do not change.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is no such schedule, `invalidDefinitions` if its work
    ///   can no longer be planned. After `unknownOutcome`, repeating the call may enqueue the work twice.
    func run(schedule name: String) async throws(ControlProblem) -> EnqueueReceipt
    /// Removes a schedule. The jobs that it has enqueued continue.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such schedule.
    func removeSchedule(_ name: String) async throws(ControlProblem)

    // MARK: The daemon

    /// Returns the state of the daemon, the queues and the database. If no daemon is running, the state is
    /// `stopped`.
    ///
    /// - Throws: ``ControlProblem``.
    func status() async throws(ControlProblem) -> StatusReport
    /// Reads the configuration and the definitions again. An invalid configuration changes nothing. Repeating
    /// the call is safe.
    ///
    /// - Throws: ``ControlProblem``: `invalidConfiguration` if the configuration is wrong or changes a setting
    ///   that needs a restart, `noDaemon` if no daemon is running.
    func reload() async throws(ControlProblem)
    /// Stores a file for a later job. The file is durable when the call returns.
    ///
    /// - Parameter size: The total size of the chunks in bytes, which is checked; nil if it is not known.
    /// - Returns: The name for the input's `file` field, `spool:…`. The file is removed when no job needs it
    ///   any more: when its job has succeeded or was pruned, or after a day if no job ever named it.
    /// - Throws: ``ControlProblem``: `tooLarge` if the file is larger than the whole spool, `unavailable` if
    ///   the spool or the disk is full, `invalidRequest` if the file is incomplete, `noDaemon` if no daemon is
    ///   running. Nothing was stored, and retrying is safe.
    func spool<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8]
}

extension JobControl {
    /// Accepts one submission completely or not at all. If its key was used before for the same request,
    /// returns the first receipt.
    ///
    /// - Throws: ``ControlProblem``, also for a refused submission. After
    ///   ``ControlProblem/Code/unknownOutcome``, retrying is safe only with a key.
    public func enqueue(_ submission: Submission) async throws(ControlProblem) -> EnqueueReceipt {
        guard let answer = try await enqueue([submission]).first else {
            throw ControlProblem(.internal, "A submission received no response. Please report this bug.")
        }
        return try answer.receipt()
    }

    public func enqueue(json submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer] {
        var parsed: [Submission] = []
        var answers: [SubmissionAnswer?] = []
        for json in submissions {
            do throws(ShapeProblem) {
                parsed.append(try Submission(json: json))
                answers.append(nil)
            } catch {
                answers.append(.refused(ControlProblem(error)))
            }
        }
        var given = try await enqueue(parsed)[...]
        return answers.map { answer in
            answer ?? given.popFirst()
                ?? .refused(ControlProblem(.internal, "The submission received no response. Please report this bug."))
        }
    }

    /// Changes a queue, and refuses to create one.
    ///
    /// - Throws: ``ControlProblem``, as ``change(_:create:)`` does.
    public func change(_ queue: QueueChange) async throws(ControlProblem) -> QueueRecord {
        try await change(queue, create: false)
    }

    /// Enqueues a new job that repeats a finished one, without a key.
    ///
    /// - Throws: ``ControlProblem``, as ``retry(_:dependents:key:)`` does. After `unknownOutcome`, repeating
    ///   the call may enqueue the job twice.
    public func retry(_ id: JobID, dependents: Bool) async throws(ControlProblem) -> EnqueueReceipt {
        try await retry(id, dependents: dependents, key: nil)
    }

    /// Returns a job's record without its result, attempts and neighbours, which may be large.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such job.
    public func record(_ id: JobID) async throws(ControlProblem) -> JobRecord {
        // The filter returns the first job from this number on.
        let before = id.rawValue > 1 ? JobID(id.rawValue - 1) : nil
        let found = try await jobs(JobFilter(after: before, order: .oldestFirst, limit: 1)).first
        guard let found, found.id == id else { throw .noJob(id) }
        return found
    }

    public func schedule(_ name: String) async throws(ControlProblem) -> ScheduleRecord {
        let schedules = try await schedules()
        if let found = schedules.first(where: { $0.schedule.name == name }) { return found }
        throw ControlProblem(
            .notFound,
            sentence(
                NearestName.unknown(
                    "schedule", name, among: schedules.map(\.schedule.name), listing: "there are")))
    }
}

/// The jobs to cancel.
public enum CancelTarget: Sendable, Hashable {
    /// These jobs together.
    case jobs([JobID])
    /// All jobs of a graph.
    case graph(GraphID)
}

/// The jobs whose changes a watch reports.
public enum WatchScope: Sendable, Hashable {
    /// One job.
    case job(JobID)
    /// All jobs of a graph, including jobs that are added later.
    case graph(GraphID)
    /// All jobs of the database.
    case all
}
