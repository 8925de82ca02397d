import ControlProtocol
import Jobs

/// Carries out the verbs that a test gives it, and no other.
struct PartialControl: JobControl {
    var databasePath: String?
    var enqueueing: @Sendable ([Submission]) async throws(ControlProblem) -> [SubmissionAnswer] = {
        _ throws(ControlProblem) in throw nothing
    }
    var watching: @Sendable (WatchScope) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error> = {
        _ throws(ControlProblem) in throw nothing
    }
    var readingResult: @Sendable (JobID) async throws(ControlProblem) -> JobResult? = {
        _ throws(ControlProblem) in throw nothing
    }
    var listingGraphs: @Sendable (Int, GraphID?) async throws(ControlProblem) -> [GraphRecord] = {
        _, _ throws(ControlProblem) in throw nothing
    }

    private static let nothing = ControlProblem(.internal, "This control does nothing.")
    private var nothing: ControlProblem { Self.nothing }

    func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer] {
        try await enqueueing(submissions)
    }
    func job(_: JobID) async throws(ControlProblem) -> JobDetail { throw nothing }
    func jobs(_: JobFilter) async throws(ControlProblem) -> [JobRecord] { throw nothing }
    func result(_ id: JobID) async throws(ControlProblem) -> JobResult? { try await readingResult(id) }
    func cancel(_: CancelTarget) async throws(ControlProblem) -> [CancelAnswer] { throw nothing }
    func retry(_: JobID, dependents: Bool, key: String?) async throws(ControlProblem) -> EnqueueReceipt {
        throw nothing
    }
    func why(_: JobID) async throws(ControlProblem) -> WaitExplanation { throw nothing }
    func prune(_: PruneRequest) async throws(ControlProblem) -> PruneAnswer { throw nothing }
    func graph(_: GraphID) async throws(ControlProblem) -> GraphDetail { throw nothing }
    func graphs(limit: Int, before: GraphID?) async throws(ControlProblem) -> [GraphRecord] {
        try await listingGraphs(limit, before)
    }
    func watch(_ scope: WatchScope) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error> {
        try await watching(scope)
    }
    func definitions(for _: String) async throws(ControlProblem) -> DefinitionSet { throw nothing }
    func queues() async throws(ControlProblem) -> [QueueRecord] { throw nothing }
    func change(_: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord { throw nothing }
    func removeQueue(_: String) async throws(ControlProblem) { throw nothing }
    func definitions() async throws(ControlProblem) -> DefinitionSet { throw nothing }
    func apply(_: String, dryRun: Bool) async throws(ControlProblem) -> [DefinitionLine] { throw nothing }
    func removeDefinition(_: String) async throws(ControlProblem) { throw nothing }
    func exportDefinitions() async throws(ControlProblem) -> String { throw nothing }
    func schedules() async throws(ControlProblem) -> [ScheduleRecord] { throw nothing }
    func setPaused(_: Bool, schedule: String) async throws(ControlProblem) -> ScheduleRecord { throw nothing }
    func run(schedule: String) async throws(ControlProblem) -> EnqueueReceipt { throw nothing }
    func removeSchedule(_: String) async throws(ControlProblem) { throw nothing }
    func status() async throws(ControlProblem) -> StatusReport { throw nothing }
    func reload() async throws(ControlProblem) { throw nothing }
    func spool<Chunks: AsyncSequence & Sendable>(
        _: Chunks, size: Int64?
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8] { throw nothing }
}
