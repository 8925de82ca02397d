import Jobs
import SQLiteStore
import Synchronization

/// A real store that loses answers: an enqueue is carried out, but neither the caller nor the observers learn of it, as with
/// a connection that breaks after the commit.
final class ForgetfulStore: JobStore {
    private let base: SQLiteJobStore
    private let state = Mutex((losesAnswer: false, isSilent: false))

    init(_ base: SQLiteJobStore) { self.base = base }

    /// Loses the answer to the next enqueue, and reports no change until ``reportAgain()``.
    func loseNextAnswer() { state.withLock { $0 = (true, true) } }
    func reportAgain() { state.withLock { $0.isSilent = false } }

    func enqueue(_ graphs: [NewGraph], now: Timestamp) async throws(StoreError) -> [EnqueueOutcome] {
        let outcomes = try await base.enqueue(graphs, now: now)
        let isLost = state.withLock { state in
            defer { state.losesAnswer = false }
            return state.losesAnswer
        }
        if isLost { throw .unanswered(server: "db", message: "the connection broke") }
        return outcomes
    }

    func observe(_ observer: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation {
        base.observe { [weak self] change in
            if self?.state.withLock(\.isSilent) == false { observer(change) }
        }
    }

    // MARK: The rest

    var capabilities: StoreCapabilities { base.capabilities }
    var condition: StoreCondition { base.condition }
    func begin(_ holder: Holder, now: Timestamp) async throws(StoreError) -> HolderLife {
        try await base.begin(holder, now: now)
    }
    func renew(_ holder: HolderID, now: Timestamp) async throws(StoreError) -> Renewal {
        try await base.renew(holder, now: now)
    }
    func leave(_ holder: HolderID, now: Timestamp) async throws(StoreError) {
        try await base.leave(holder, now: now)
    }
    func holders() async throws(StoreError) -> [HolderRecord] { try await base.holders() }
    func rescue(
        _ request: RescueRequest, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> RescueReport { try await base.rescue(request, by: holder, now: now) }
    func held(by holder: HolderID) async throws(StoreError) -> [ClaimedJob] { try await base.held(by: holder) }
    func noteAbandoned(_ count: Int, by holder: HolderID) { base.noteAbandoned(count, by: holder) }
    func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> Exchange { try await base.exchange(ends, claim: claim, by: holder, now: now) }
    func save(
        _ checkpoints: [CheckpointSave], by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> [SaveResult] { try await base.save(checkpoints, by: holder, now: now) }
    func prepare(_ children: [NewGraph]) async throws(StoreError) -> PreparedChildren? {
        try await base.prepare(children)
    }
    func trials(now: Timestamp) async throws(StoreError) -> CrashTrials.Report? { try await base.trials(now: now) }
    func cancel(_ jobs: [JobID], now: Timestamp) async throws(StoreError) -> [CancelResult] {
        try await base.cancel(jobs, now: now)
    }
    func cancel(graph: GraphID, now: Timestamp) async throws(StoreError) -> [JobID: CancelResult]? {
        try await base.cancel(graph: graph, now: now)
    }
    func prune(_ request: PruneRequest, below: JobID?, limit: Int) async throws(StoreError) -> PruneStep {
        try await base.prune(request, below: below, limit: limit)
    }
    func change(
        _ queue: QueueChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<QueueRecord> {
        try await base.change(queue, checkedAt: version, now: now)
    }
    func removeQueue(_ name: String, now: Timestamp) async throws(StoreError) -> QueueRemoval {
        try await base.removeQueue(name, now: now)
    }
    func change(
        _ definitions: DefinitionChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<SettingsVersion> {
        try await base.change(definitions, checkedAt: version, now: now)
    }
    func register(_ kinds: [KindDescription], by holder: HolderID, now: Timestamp) async throws(StoreError) {
        try await base.register(kinds, by: holder, now: now)
    }
    func recordProblems(_ problems: [String: String], by holder: HolderID) async throws(StoreError) {
        try await base.recordProblems(problems, by: holder)
    }
    func schedules() async throws(StoreError) -> [ScheduleRecord] { try await base.schedules() }
    func schedule(_ name: String) async throws(StoreError) -> ScheduleRecord? { try await base.schedule(name) }
    func schedules(due now: Timestamp, limit: Int) async throws(StoreError) -> [ScheduleRecord] {
        try await base.schedules(due: now, limit: limit)
    }
    func nextScheduleAt() async throws(StoreError) -> Timestamp? { try await base.nextScheduleAt() }
    func refusedScheduleCount() async throws(StoreError) -> Int { try await base.refusedScheduleCount() }
    func plan(_ timings: [ScheduleTiming]) async throws(StoreError) { try await base.plan(timings) }
    func fire(_ firing: ScheduleFiring, now: Timestamp) async throws(StoreError) -> FiringOutcome {
        try await base.fire(firing, now: now)
    }
    func run(
        schedule name: String, _ graph: NewGraph, now: Timestamp
    ) async throws(StoreError) -> EnqueueOutcome? {
        try await base.run(schedule: name, graph, now: now)
    }
    func setPaused(
        _ isPaused: Bool, schedule name: String, now: Timestamp
    ) async throws(StoreError) -> ScheduleRecord? {
        try await base.setPaused(isPaused, schedule: name, now: now)
    }
    func definitions() async throws(StoreError) -> DefinitionSet { try await base.definitions() }
    func definition(_ id: DefinitionID) async throws(StoreError) -> StoredDefinition? {
        try await base.definition(id)
    }
    func outcome(of key: IdempotencyKey) async throws(StoreError) -> EnqueueOutcome? {
        try await base.outcome(of: key)
    }
    func job(_ id: JobID) async throws(StoreError) -> JobRecord? { try await base.job(id) }
    func page(_ filter: JobFilter) async throws(StoreError) -> JobPage { try await base.page(filter) }
    func result(of job: JobID) async throws(StoreError) -> JobResult? { try await base.result(of: job) }
    func attempts(of job: JobID) async throws(StoreError) -> [AttemptRecord] { try await base.attempts(of: job) }
    func checkpoint(of job: JobID) async throws(StoreError) -> Checkpoint? { try await base.checkpoint(of: job) }
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) async throws(StoreError) -> Neighbours {
        try await base.dependencies(of: job, onlyOpen: onlyOpen, limit: limit)
    }
    func dependents(of job: JobID, limit: Int) async throws(StoreError) -> [Neighbour] {
        try await base.dependents(of: job, limit: limit)
    }
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) async throws(StoreError) -> DependencyOutputs {
        try await base.outputs(ofDependenciesOf: job, wanted, maxBytes: maxBytes)
    }
    func graph(_ id: GraphID) async throws(StoreError) -> GraphRecord? { try await base.graph(id) }
    func graphs(limit: Int, before: GraphID?) async throws(StoreError) -> [GraphRecord] {
        try await base.graphs(limit: limit, before: before)
    }
    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) async throws(StoreError) -> EdgePage {
        try await base.edges(of: graph, after: after, limit: limit)
    }
    func queues() async throws(StoreError) -> [QueueRecord] { try await base.queues() }
    func counts() async throws(StoreError) -> StateCounts { try await base.counts() }
    func nextDueAt() async throws(StoreError) -> Timestamp? { try await base.nextDueAt() }
    func isAtRest(now: Timestamp) async throws(StoreError) -> Bool { try await base.isAtRest(now: now) }
}
