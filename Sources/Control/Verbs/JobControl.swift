import Jobs

/// The verbs of Halyard, which the control socket offers and the command line uses.
///
/// There are two implementations: a client of the daemon's socket, behind which the daemon has a ``StoreControl`` of
/// its store, and, if no daemon runs, a ``StoreControl`` of the database whose lock the caller holds. Each verb is
/// atomic, and a change that it reports as done survives a power cut.
public protocol JobControl: Sendable {
    /// The path of the database, as its user names it; nil before the daemon's first answer.
    var databasePath: String? { get }

    // MARK: Jobs

    /// Accepts each submission completely or not at all. The answers are in order; a refusal does not affect other
    /// submissions.
    ///
    /// If it cannot continue, the submissions accepted so far stay accepted, and the rest are refused with the reason.
    /// It throws only if nothing was accepted.
    func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer]
    /// Enqueues submissions given as JSON and returns one answer for each.
    func enqueue(json submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer]
    func job(_ id: JobID) async throws(ControlProblem) -> JobDetail
    func jobs(_ filter: JobFilter) async throws(ControlProblem) -> [JobRecord]
    /// Yields the contents of ``jobs(_:)``, a few at a time.
    func pages(_ filter: JobFilter) async throws(ControlProblem) -> Pages<JobRecord>
    /// The final result; nil while the job is open.
    func result(_ id: JobID) async throws(ControlProblem) -> JobResult?
    /// The final result; nil if the job is still open after that time.
    ///
    /// - Throws: `unavailable`, for example if the daemon stops during the wait. Call it again when the daemon is back.
    func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult?
    /// Cancels jobs together, so that none is skipped or started because of another, and returns one answer for each,
    /// in order. The daemon cancels up to 10,000 jobs together; a longer list is divided.
    func cancel(_ target: CancelTarget) async throws(ControlProblem) -> [CancelAnswer]
    /// Enqueues a new job that repeats a finished one, with the stored results of its dependencies as inputs.
    ///
    /// - Parameters:
    ///   - dependents: Whether to repeat also the dependents that were skipped because of the job, and their other
    ///     dependencies that did not succeed, as one graph.
    ///   - key: The caller's name for this request, as in ``Submission/key``: repeating the request enqueues nothing
    ///     more and returns the same receipt.
    func retry(_ id: JobID, dependents: Bool, key: String?) async throws(ControlProblem) -> EnqueueReceipt
    /// Explains what the job waits for.
    func why(_ id: JobID) async throws(ControlProblem) -> WaitExplanation
    func prune(_ request: PruneRequest) async throws(ControlProblem) -> PruneAnswer

    // MARK: Graphs

    func graph(_ id: GraphID) async throws(ControlProblem) -> GraphDetail
    func graphs(limit: Int, before: GraphID?) async throws(ControlProblem) -> [GraphRecord]
    /// Yields the contents of ``graph(_:)``, a few jobs and edges at a time.
    func pages(of graph: GraphID) async throws(ControlProblem) -> GraphPages
    /// Yields the contents of ``graphs(limit:before:)``, a few at a time.
    func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord>

    // MARK: Watching

    /// The present state of everything in scope, then every change and the progress of running attempts, until the scope
    /// is final (`job`, `graph`) or the caller stops.
    func watch(_ scope: WatchScope) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error>

    // MARK: Queues and definitions

    func queues() async throws(ControlProblem) -> [QueueRecord]
    /// - Parameter create: Whether to create a queue that does not exist. Otherwise the change is refused.
    func change(_ queue: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord
    /// Removes a queue. It is refused while open jobs, definitions, graph definitions or schedules name the queue.
    /// Final jobs of the queue stay. A job that an operation's code enqueues creates the queue again.
    func removeQueue(_ name: String) async throws(ControlProblem)
    func definitions() async throws(ControlProblem) -> DefinitionSet
    /// Returns only the parts that an enqueue by this name needs: the definition or graph definition, the definitions
    /// of its nodes, their kinds and queues. Throws `unknownDefinition` if there is none of that name.
    func definitions(for name: String) async throws(ControlProblem) -> DefinitionSet
    /// Checks the whole document and, unless `dryRun` is set, stores it completely.
    func apply(_ document: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine]
    func removeDefinition(_ name: String) async throws(ControlProblem)
    /// Returns a document that ``apply(_:dryRun:)`` accepts without changing anything.
    func exportDefinitions() async throws(ControlProblem) -> String

    // MARK: Schedules

    /// All schedules, ordered by name.
    func schedules() async throws(ControlProblem) -> [ScheduleRecord]
    func schedule(_ name: String) async throws(ControlProblem) -> ScheduleRecord
    /// Pauses or resumes a schedule. Times that pass while it is paused are skipped and not made up for.
    func setPaused(_ isPaused: Bool, schedule name: String) async throws(ControlProblem) -> ScheduleRecord
    /// Enqueues the schedule's work now, even if the schedule is paused or its last job still runs. Its times do not
    /// change.
    func run(schedule name: String) async throws(ControlProblem) -> EnqueueReceipt
    /// Removes a schedule. The jobs that it has enqueued continue.
    func removeSchedule(_ name: String) async throws(ControlProblem)

    // MARK: The daemon

    func status() async throws(ControlProblem) -> StatusReport
    /// Reads the configuration and the definitions again and applies them completely or not at all.
    func reload() async throws(ControlProblem)
    /// Stores a file for a later job. The file is durable when the call returns.
    ///
    /// - Returns: The name for the input's `file` field, `spool:…`. The file is removed when no job needs it any more:
    ///   when its job has succeeded or has been pruned, or after a day if no job ever named it.
    func spool<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8]
}

extension JobControl {
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
            answer ?? given.popFirst() ?? .refused(ControlProblem(.internal, "No answer. Please report this."))
        }
    }

    /// Changes a queue that exists.
    public func change(_ queue: QueueChange) async throws(ControlProblem) -> QueueRecord {
        try await change(queue, create: false)
    }

    public func retry(_ id: JobID, dependents: Bool) async throws(ControlProblem) -> EnqueueReceipt {
        try await retry(id, dependents: dependents, key: nil)
    }

    /// The job without its result, attempts and neighbours, which may be large.
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

public enum CancelTarget: Sendable, Hashable {
    case jobs([JobID])
    case graph(GraphID)
}

public enum WatchScope: Sendable, Hashable {
    case job(JobID)
    case graph(GraphID)
    case all
}
