import Jobs

/// Every verb of Halyard, as the control socket offers it and the command line uses it.
///
/// Two things stand behind it: the daemon (``StoreControl`` over its store, reached through the socket), or, where no
/// daemon runs, ``StoreControl`` over the database whose lock the caller took. Each verb is atomic; what it reports as
/// done survives a power cut.
public protocol JobControl: Sendable {
    /// The database's file, as whoever holds it names it; nil while no daemon has answered.
    var databasePath: String? { get }

    // MARK: Jobs

    /// Accepts each submission whole or not at all. Answers are in order; a refused one does not touch the others.
    ///
    /// When it cannot go on, what was accepted stands and the rest is refused with the reason; it throws only where nothing
    /// was accepted.
    func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer]
    /// Enqueues submissions given as JSON and returns one answer for each.
    func enqueue(json submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer]
    func job(_ id: JobID) async throws(ControlProblem) -> JobDetail
    func jobs(_ filter: JobFilter) async throws(ControlProblem) -> [JobRecord]
    /// Yields the contents of ``jobs(_:)``, a few at a time.
    func pages(_ filter: JobFilter) async throws(ControlProblem) -> Pages<JobRecord>
    /// The final result; nil while the job is open.
    func result(_ id: JobID) async throws(ControlProblem) -> JobResult?
    /// The final result; nil when the job is still open after that time.
    ///
    /// - Throws: `unavailable` also when the daemon stops meanwhile: ask again when it is back.
    func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult?
    /// Jobs are cancelled together, none is skipped or started because of another; one answer for each, in order.
    /// A daemon takes 10,000 at once; more become several such groups.
    func cancel(_ target: CancelTarget) async throws(ControlProblem) -> [CancelAnswer]
    /// Enqueues a new job that repeats a finished one, with the stored results of its dependencies as inputs.
    ///
    /// - Parameters:
    ///   - dependents: Whether to repeat also the dependents that were skipped because of the job, and their other
    ///     dependencies that did not succeed, as one graph.
    ///   - key: The caller's name for this request, as in ``Submission/key``: repeating the request enqueues nothing
    ///     more and returns the same receipt.
    func retry(_ id: JobID, dependents: Bool, key: String?) async throws(ControlProblem) -> EnqueueReceipt
    /// What the job waits for.
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
    /// - Parameter create: Whether to make a queue that does not exist; else it is refused.
    func change(_ queue: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord
    /// Refused while jobs that are not final, definitions, graph definitions or schedules name it. Its final jobs stay. A
    /// job that an operation enqueues by code makes it again.
    func removeQueue(_ name: String) async throws(ControlProblem)
    func definitions() async throws(ControlProblem) -> DefinitionSet
    /// Only what an enqueue by a name needs: the definition or graph definition, those of its nodes, their kinds and
    /// queues. Throws `unknownDefinition` when there is none of that name.
    func definitions(for name: String) async throws(ControlProblem) -> DefinitionSet
    /// Checks a document whole and, unless `dryRun`, writes it whole.
    func apply(_ document: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine]
    func removeDefinition(_ name: String) async throws(ControlProblem)
    /// A document that ``apply(_:dryRun:)`` takes back unchanged.
    func exportDefinitions() async throws(ControlProblem) -> String

    // MARK: Schedules

    /// In order of name.
    func schedules() async throws(ControlProblem) -> [ScheduleRecord]
    func schedule(_ name: String) async throws(ControlProblem) -> ScheduleRecord
    /// While it is paused its times do not count, and are not made up for.
    func setPaused(_ isPaused: Bool, schedule name: String) async throws(ControlProblem) -> ScheduleRecord
    /// Enqueues now what the schedule would, paused or not, whatever of it still runs. Its times stay as they are.
    func run(schedule name: String) async throws(ControlProblem) -> EnqueueReceipt
    /// What it has enqueued goes on.
    func removeSchedule(_ name: String) async throws(ControlProblem)

    // MARK: The daemon

    func status() async throws(ControlProblem) -> StatusReport
    /// Reads configuration and definitions anew, whole or not at all.
    func reload() async throws(ControlProblem)
    /// Keeps a file for a job to come. When it returns the file is durable.
    ///
    /// - Returns: The name for the input's `file` field, `spool:…`. The file goes when its job is final, or after a day
    ///   when no job ever named it.
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

    /// The job without its result, its attempts and its neighbours, of which there may be much.
    public func record(_ id: JobID) async throws(ControlProblem) -> JobRecord {
        // The first from this number on.
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
