import Jobs
import OperationTypes
import SQLiteStore
import Synchronization

@testable import Runner

/// A real store behind a connection that a test cuts, with lives that have a length.
///
/// Everything is stored by SQLite. Only the connection, the length of lives, and the clock that ends them belong to the
/// test.
final class CutOffStore: JobStore {
    static let length = Duration.seconds(30)
    static let unreachable = StoreError.unreachable(server: "db", message: "cut")
    static let unanswered = StoreError.unanswered(server: "db", message: "cut")

    private struct State {
        var isCut = false
        /// Whether the next exchange is carried out, and its answer lost.
        var losesAnswer = false
        /// Whether the next exchange is not carried out, and its answer lost.
        var losesRequest = false
        /// Whether the next firing is carried out, and its answer lost.
        var losesFiring = false
        /// How many of the next reads of outputs fail.
        var unreadOutputs = 0
        var offset = Duration.zero
        var endsAt: [HolderID: Duration] = [:]
        var renewals = 0
        var begun: [HolderID] = []
        var refusedBegins = 0
        var goodbyes = 0
        /// Whether the next save is carried out; its answer is lost in any case. Nil if no answer is lost.
        var lostSaveIsStored: Bool?
        /// Opened when the saves that arrive now may be carried out; nil if they are carried out at once.
        var heldSaves: Latch<Void>?
        var savedTogether: [[JSONText]] = []
    }

    private let base: SQLiteJobStore
    private let clock: ManualClock<Duration>
    private let state = Mutex(State())
    private let arrivedSaves = AsyncStream<Void>.makeStream()

    init(_ base: SQLiteJobStore, _ clock: ManualClock<Duration>) {
        self.base = base
        self.clock = clock
    }

    var renewals: Int { state.withLock(\.renewals) }
    /// How often a life could not begin.
    var refusedBegins: Int { state.withLock(\.refusedBegins) }
    /// How often a holder has tried to leave.
    var goodbyes: Int { state.withLock(\.goodbyes) }
    var begun: [HolderID] { state.withLock(\.begun) }
    func cut() { state.withLock { $0.isCut = true } }
    func mend() { state.withLock { $0.isCut = false } }
    func loseNextAnswer() { state.withLock { $0.losesAnswer = true } }
    /// The values of each call to save checkpoints.
    var savedTogether: [[JSONText]] { state.withLock(\.savedTogether) }
    /// Loses the answer to the next save.
    func loseNextSave(isStored: Bool) { state.withLock { $0.lostSaveIsStored = isStored } }
    /// Lets the saves that arrive from now on wait until they are passed.
    func holdSaves() { state.withLock { $0.heldSaves = Latch() } }
    func passSaves() { state.withLock { $0.heldSaves.take() }?.open() }
    /// Waits until a held save arrives.
    func saveArrived() async {
        var iterator = arrivedSaves.stream.makeAsyncIterator()
        _ = await iterator.next()
    }
    func loseNextRequest() { state.withLock { $0.losesRequest = true } }
    func loseNextFiring() { state.withLock { $0.losesFiring = true } }
    func refuseOutputs(_ count: Int) { state.withLock { $0.unreadOutputs = count } }
    /// Sets the store's clock ahead of the machine's.
    func setClock(aheadBy offset: Duration) { state.withLock { $0.offset = offset } }
    var clockOffset: Duration { state.withLock(\.offset) }

    /// The store behind the connection; nothing is stored while the connection is cut.
    private func reached() throws(StoreError) -> SQLiteJobStore {
        if state.withLock(\.isCut) { throw Self.unreachable }
        return base
    }

    private func isAlive(_ holder: HolderID) -> Bool {
        let now = clock.now
        return state.withLock { $0.endsAt[holder].map { $0 > now } ?? false }
    }

    var capabilities: StoreCapabilities { StoreCapabilities(holders: .many) }
    var condition: StoreCondition {
        var condition = base.condition
        if state.withLock(\.isCut) { condition.problem = Self.unreachable }
        return condition
    }
    func observe(_ observer: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation { base.observe(observer) }

    // MARK: Holders

    func begin(_ holder: Holder, now: Timestamp) async throws(StoreError) -> HolderLife {
        if state.withLock(\.isCut) {
            state.withLock { $0.refusedBegins += 1 }
            throw Self.unreachable
        }
        var life = try await base.begin(holder, now: now)
        life.length = Self.length
        let endsAt = clock.now + Self.length
        state.withLock {
            $0.endsAt = [life.id: endsAt]
            $0.begun.append(life.id)
        }
        return life
    }

    func renew(_ holder: HolderID, now: Timestamp) async throws(StoreError) -> Renewal {
        _ = try reached()
        guard isAlive(holder) else { return .ended }
        let endsAt = clock.now + Self.length
        state.withLock {
            $0.endsAt[holder] = endsAt
            $0.renewals += 1
        }
        return .renewed(HolderLife(id: holder, length: Self.length))
    }

    func leave(_ holder: HolderID, now: Timestamp) async throws(StoreError) {
        state.withLock { $0.goodbyes += 1 }
        try await reached().leave(holder, now: now)
    }

    func holders() async throws(StoreError) -> [HolderRecord] { try await reached().holders() }

    func rescue(
        _ request: RescueRequest, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> RescueReport {
        try await reached().rescue(request, by: holder, now: now)
    }

    func held(by holder: HolderID) async throws(StoreError) -> [ClaimedJob] { try await reached().held(by: holder) }
    func noteAbandoned(_ count: Int, by holder: HolderID) { base.noteAbandoned(count, by: holder) }

    func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> Exchange {
        let (losesAnswer, losesRequest) = state.withLock { state in
            defer { (state.losesAnswer, state.losesRequest) = (false, false) }
            return (state.losesAnswer, state.losesRequest)
        }
        if losesRequest { throw Self.unanswered }
        let isAlive = isAlive(holder)
        var answer = try await reached().exchange(ends, claim: isAlive ? claim : nil, by: holder, now: now)
        if !isAlive { answer.isAlive = false }
        if losesAnswer { throw Self.unanswered }
        return answer
    }

    func save(
        _ checkpoints: [CheckpointSave], by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> [SaveResult] {
        let (held, lostIsStored) = state.withLock { state in
            state.savedTogether.append(checkpoints.map(\.value))
            return (state.heldSaves, state.lostSaveIsStored.take())
        }
        if let held {
            arrivedSaves.continuation.yield()
            await held.uncancellableWait()
        }
        if lostIsStored == false { throw Self.unanswered }
        let results = try await reached().save(checkpoints, by: holder, now: now)
        if lostIsStored == true { throw Self.unanswered }
        return results
    }

    // MARK: The rest

    func enqueue(_ graphs: [NewGraph], now: Timestamp) async throws(StoreError) -> [EnqueueOutcome] {
        try await reached().enqueue(graphs, now: now)
    }
    func prepare(_ children: [NewGraph]) async throws(StoreError) -> PreparedChildren? {
        try await reached().prepare(children)
    }
    func trials(now: Timestamp) async throws(StoreError) -> CrashTrials.Report? { try await reached().trials(now: now) }
    func cancel(_ jobs: [JobID], now: Timestamp) async throws(StoreError) -> [CancelResult] {
        try await reached().cancel(jobs, now: now)
    }
    func cancel(graph: GraphID, now: Timestamp) async throws(StoreError) -> [JobID: CancelResult]? {
        try await reached().cancel(graph: graph, now: now)
    }
    func prune(_ request: PruneRequest, below: JobID?, limit: Int) async throws(StoreError) -> PruneStep {
        try await reached().prune(request, below: below, limit: limit)
    }
    func change(
        _ queue: QueueChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<QueueRecord> {
        try await reached().change(queue, checkedAt: version, now: now)
    }
    func removeQueue(_ name: String, now: Timestamp) async throws(StoreError) -> QueueRemoval {
        try await reached().removeQueue(name, now: now)
    }
    func change(
        _ definitions: DefinitionChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<SettingsVersion> {
        try await reached().change(definitions, checkedAt: version, now: now)
    }
    func register(_ kinds: [KindDescription], by holder: HolderID, now: Timestamp) async throws(StoreError) {
        try await reached().register(kinds, by: holder, now: now)
    }
    func recordProblems(_ problems: [String: String], by holder: HolderID) async throws(StoreError) {
        try await reached().recordProblems(problems, by: holder)
    }
    func schedules() async throws(StoreError) -> [ScheduleRecord] { try await reached().schedules() }
    func schedule(_ name: String) async throws(StoreError) -> ScheduleRecord? { try await reached().schedule(name) }
    func schedules(due now: Timestamp, limit: Int) async throws(StoreError) -> [ScheduleRecord] {
        try await reached().schedules(due: now, limit: limit)
    }
    func nextScheduleAt() async throws(StoreError) -> Timestamp? { try await reached().nextScheduleAt() }
    func refusedScheduleCount() async throws(StoreError) -> Int { try await reached().refusedScheduleCount() }
    func plan(_ timings: [ScheduleTiming]) async throws(StoreError) { try await reached().plan(timings) }
    func fire(_ firing: ScheduleFiring, now: Timestamp) async throws(StoreError) -> FiringOutcome {
        let outcome = try await reached().fire(firing, now: now)
        let isLost = state.withLock { state in
            defer { state.losesFiring = false }
            return state.losesFiring
        }
        if isLost { throw Self.unanswered }
        return outcome
    }
    func run(
        schedule name: String, _ graph: NewGraph, now: Timestamp
    ) async throws(StoreError) -> EnqueueOutcome? {
        try await reached().run(schedule: name, graph, now: now)
    }
    func setPaused(
        _ isPaused: Bool, schedule name: String, now: Timestamp
    ) async throws(StoreError) -> ScheduleRecord? {
        try await reached().setPaused(isPaused, schedule: name, now: now)
    }
    func definitions() async throws(StoreError) -> DefinitionSet { try await reached().definitions() }
    func definition(_ id: DefinitionID) async throws(StoreError) -> StoredDefinition? {
        try await reached().definition(id)
    }
    func outcome(of key: IdempotencyKey) async throws(StoreError) -> EnqueueOutcome? {
        try await reached().outcome(of: key)
    }
    func job(_ id: JobID) async throws(StoreError) -> JobRecord? { try await reached().job(id) }
    func page(_ filter: JobFilter) async throws(StoreError) -> JobPage { try await reached().page(filter) }
    func result(of job: JobID) async throws(StoreError) -> JobResult? { try await reached().result(of: job) }
    func attempts(of job: JobID) async throws(StoreError) -> [AttemptRecord] { try await reached().attempts(of: job) }
    func checkpoint(of job: JobID) async throws(StoreError) -> Checkpoint? { try await reached().checkpoint(of: job) }
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) async throws(StoreError) -> Neighbours {
        try await reached().dependencies(of: job, onlyOpen: onlyOpen, limit: limit)
    }
    func dependents(of job: JobID, limit: Int) async throws(StoreError) -> [Neighbour] {
        try await reached().dependents(of: job, limit: limit)
    }
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) async throws(StoreError) -> DependencyOutputs {
        let isRefused = state.withLock { state in
            defer { state.unreadOutputs = max(0, state.unreadOutputs - 1) }
            return state.unreadOutputs > 0
        }
        if isRefused { throw Self.unreachable }
        return try await reached().outputs(ofDependenciesOf: job, wanted, maxBytes: maxBytes)
    }
    func graph(_ id: GraphID) async throws(StoreError) -> GraphRecord? { try await reached().graph(id) }
    func graphs(limit: Int, before: GraphID?) async throws(StoreError) -> [GraphRecord] {
        try await reached().graphs(limit: limit, before: before)
    }
    func edges(of graph: GraphID, after: EdgePosition?, limit: Int) async throws(StoreError) -> EdgePage {
        try await reached().edges(of: graph, after: after, limit: limit)
    }
    func queues() async throws(StoreError) -> [QueueRecord] { try await reached().queues() }
    func counts() async throws(StoreError) -> StateCounts { try await reached().counts() }
    func nextDueAt() async throws(StoreError) -> Timestamp? { try await reached().nextDueAt() }
    func isAtRest(now: Timestamp) async throws(StoreError) -> Bool { try await reached().isAtRest(now: now) }
}
