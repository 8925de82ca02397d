import Jobs
import OperationTypes
import PostgreSQL
import StoreParts
import Synchronization

/// A job store in a PostgreSQL database, which several daemons may share.
///
/// Each connection is used by one thread, and is made when it is first used. Most writes use one connection and share
/// commits (``CommitLoop``). Enqueues of about 50 to 2,000 jobs use another one, so that the server can insert jobs and
/// end others at the same time; fewer jobs cost less in a shared commit. Requests that affect very many rows use a
/// third one, so that other writes do not wait for them. Lives are renewed on one of their own, reads use two more, and
/// one keeps tables small. One more receives the notifications of other stores.
public final class PostgresJobStore: JobStore {
    /// The server for people: host, port and database.
    public let server: String
    /// Identifies the database, also after it was moved to another server or restored from a dump.
    public let identity: String

    private let writing: RequestThread<Writer>
    /// The thread for enqueues from ``someWeight`` to ``manyWeight``.
    private let enqueueing: RequestThread<Writer>
    /// The thread for writes that affect very many rows.
    let bulk: RequestThread<Writer>
    /// The thread that renews lives.
    private let lives: RequestThread<LifeKeeper>
    /// The thread for reads that running jobs wait for.
    let reading: RequestThread<Reader>
    /// The thread for listings, which may take long.
    let listing: RequestThread<Reader>
    /// The thread that keeps hot tables small.
    private let rotating: RotationThread
    private let observers: Observers
    private let listener: Listener?
    private let offset: ClockOffset?
    private let health: WriteHealth
    private let onRescue: @Sendable () -> Void
    /// The cancellation requests that a renewal has reported.
    private let reported = Mutex(Set<Lease>())

    /// The weight from which on an enqueue shares no commit with the ends of jobs.
    private static let someWeight = 50
    /// The weight above which a request is one that affects very many rows.
    private static let manyWeight = 2000

    init(
        server: String, identity: String, writing: RequestThread<Writer>, enqueueing: RequestThread<Writer>,
        bulk: RequestThread<Writer>, lives: RequestThread<LifeKeeper>, reading: RequestThread<Reader>,
        listing: RequestThread<Reader>, rotating: RotationThread, listener: Listener?, observers: Observers,
        offset: ClockOffset?, health: WriteHealth, onRescue: @escaping @Sendable () -> Void
    ) {
        self.server = server
        self.identity = identity
        self.writing = writing
        self.enqueueing = enqueueing
        self.bulk = bulk
        self.lives = lives
        self.reading = reading
        self.listing = listing
        self.rotating = rotating
        self.observers = observers
        self.listener = listener
        self.offset = offset
        self.health = health
        self.onRescue = onRescue
    }

    // MARK: Opening and closing

    /// Carries out the requests made so far and closes the connections. Later requests fail with `StoreError.closed`.
    ///
    /// Waits at most 30 seconds, and 5 while the server cannot be reached. After that, the threads still wait for its
    /// answers, and a request that was not answered may or may not be stored.
    public func close() async {
        let isCutOff =
            switch condition.problem {
            case .unreachable?, .unanswered?: true
            default: false
            }
        let isClosed = Latch<Void>()
        // Nothing awaits this task: it ends with the threads.
        Task {
            await closeThreads()
            isClosed.open()
        }
        // Cancelled below.
        let deadline = Task {
            // Only the cancellation ends the sleep early, when nobody waits any more.
            try? await Task.sleep(for: .seconds(isCutOff ? 5 : 30))
            isClosed.open()
        }
        await isClosed.uncancellableWait()
        deadline.cancel()
    }

    private func closeThreads() async {
        await reading.close()
        await listing.close()
        await lives.close()
        await rotating.close()
        await bulk.close()
        await enqueueing.close()
        await writing.close()
        await listener?.close()
    }

    /// Whether the last write failed for a reason outside of the jobs. If so, the database may still show jobs as
    /// running that have ended in this process.
    public var lastWriteFailed: Bool { health.lastFailed.load(ordering: .relaxed) }

    public let capabilities = StoreCapabilities(holders: .many)
    public var clockOffset: Duration { offset?.value ?? .zero }

    private func write<Value: Sendable>(
        weight: Int = 1, _ body: @escaping @Sendable (Writer) throws(PostgresError) -> Value
    ) async throws(StoreError) -> Value {
        try await (weight > Self.manyWeight ? bulk : writing).perform(weight: weight, body)
    }

    // MARK: Holders

    public func begin(_ holder: Holder, now: Timestamp) async throws(StoreError) -> HolderLife {
        switch try await write({ (writer) throws(PostgresError) in try writer.begin(holder, now: now) }) {
        case .begun(let life): return life
        case .inUse(let host): throw .identityInUse(host: host)
        }
    }

    public func renew(_ holder: HolderID, now: Timestamp) async throws(StoreError) -> Renewal {
        // While no job can run, programs may still enqueue jobs, which need new ranges of history.
        rotating.lookIfDue()
        let (renewal, cancelled) = try await lives.perform { (keeper) throws(PostgresError) in
            try keeper.renew(holder, now: now)
        }
        let leases = Set(cancelled.map(\.lease))
        let known = reported.withLock { reported in
            defer { reported = leases }
            return reported
        }
        let new = cancelled.filter { !known.contains($0.lease) }
        if !new.isEmpty { observers.tell([.jobs(new)]) }
        return renewal
    }

    public func leave(_ holder: HolderID, now: Timestamp) async throws(StoreError) {
        try await write { (writer) throws(PostgresError) in try writer.leave(holder, now: now) }
    }

    public func setDrained(_ isDrained: Bool, identity: String, now: Timestamp) async throws(StoreError) -> Bool {
        try await write { (writer) throws(PostgresError) in
            try writer.setDrained(isDrained, identity: identity, now: now)
        }
    }

    public func holders() async throws(StoreError) -> [HolderRecord] {
        try await reading.perform { (reader) throws(PostgresError) in try reader.holders() }
    }

    public func rescue(
        _ request: RescueRequest, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> RescueReport {
        let report = try await write { (writer) throws(PostgresError) in
            try writer.rescue(request, by: holder, now: now)
        }
        guard let report else { return RescueReport(returned: [], failed: [], cancelled: []) }
        onRescue()
        return report
    }

    public func held(by holder: HolderID) async throws(StoreError) -> [ClaimedJob] {
        try await write { (writer) throws(PostgresError) in try writer.held(by: holder) }
    }

    public func noteAbandoned(_ count: Int, by holder: HolderID) {
        lives.put(NoteRequest { (keeper) throws(PostgresError) in try keeper.noteAbandoned(count, by: holder) })
    }

    // MARK: Jobs

    public func enqueue(_ graphs: [NewGraph], now: Timestamp) async throws(StoreError) -> [EnqueueOutcome] {
        let weight = graphs.reduce(0) { $0 + $1.weight }
        let thread = weight > Self.manyWeight ? bulk : weight >= Self.someWeight ? enqueueing : writing
        return try await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<[EnqueueOutcome], StoreError>, Never>) in
            thread.put(EnqueueRequest(graphs, now: now, continuation))
        }.get()
    }

    /// Ends and claims use one connection even if there are very many children: they belong to one transaction.
    public func exchange(
        _ ends: [AttemptEnd], claim: ClaimRequest?, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> Exchange {
        var weight = ends.count + (claim?.slots ?? 0)
        for end in ends { weight += end.ending.children.reduce(0) { $0 + $1.weight } }
        let exchange = try await writing.perform(weight: weight) { (writer) throws(PostgresError) in
            try writer.exchange(ends, claim: claim, by: holder, now: now)
        }
        if !exchange.claimed.isEmpty || !exchange.finished.isEmpty { rotating.lookIfDue() }
        return exchange
    }

    public func save(
        _ checkpoints: [CheckpointSave], by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> [SaveResult] {
        // On the connection of the exchanges, so that an end never overtakes a checkpoint of its attempt.
        try await writing.perform(weight: checkpoints.count) { (writer) throws(PostgresError) in
            try writer.save(checkpoints, by: holder, now: now)
        }
    }

    public func trials(now: Timestamp) async throws(StoreError) -> CrashTrials.Report? {
        try await write { (writer) throws(PostgresError) in writer.reportTrials(now: now) }
    }

    public func cancel(_ jobs: [JobID], now: Timestamp) async throws(StoreError) -> [CancelResult] {
        rotating.lookIfDue()
        return try await write(weight: jobs.count) { (writer) throws(PostgresError) in
            try writer.cancel(jobs, now: now)
        }
    }

    public func cancel(graph: GraphID, now: Timestamp) async throws(StoreError) -> [JobID: CancelResult]? {
        let jobs = try await self.graph(graph)?.counts.open ?? 0
        return try await write(weight: Int(jobs)) { (writer) throws(PostgresError) in
            try writer.cancel(graph: graph, now: now)
        }
    }

    // MARK: Settings

    public func change(
        _ queue: QueueChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<QueueRecord> {
        try await write { (writer) throws(PostgresError) in
            try writer.change(queue, checkedAt: version, now: now)
        }
    }

    public func removeQueue(_ name: String, now: Timestamp) async throws(StoreError) -> QueueRemoval {
        try await writing.perform(excludesAdding: true) { (writer) throws(PostgresError) in
            try writer.removeQueue(name, now: now)
        }
    }

    public func change(
        _ definitions: DefinitionChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<SettingsVersion> {
        let outcome = try await write { (writer) throws(PostgresError) in
            try writer.change(definitions, checkedAt: version, now: now)
        }
        switch outcome {
        case .changed(let version): return .changed(version)
        case .outdated: return .outdated
        case .tooManySchedules: throw .tooManySchedules(limit: Schedule.maxCount)
        }
    }

    public func register(
        _ kinds: [KindDescription], by holder: HolderID, now: Timestamp
    ) async throws(StoreError) {
        try await write { (writer) throws(PostgresError) in try writer.register(kinds, by: holder, now: now) }
    }

    public func recordProblems(_ problems: [String: String], by holder: HolderID) async throws(StoreError) {
        try await write { (writer) throws(PostgresError) in try writer.recordProblems(problems, by: holder) }
    }

    // MARK: Schedules

    public func schedules() async throws(StoreError) -> [ScheduleRecord] {
        try await reading.perform { (reader) throws(PostgresError) in try reader.allSchedules() }
    }

    public func schedule(_ name: String) async throws(StoreError) -> ScheduleRecord? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.schedule(name) }
    }

    public func schedules(due now: Timestamp, limit: Int) async throws(StoreError) -> [ScheduleRecord] {
        try await reading.perform { (reader) throws(PostgresError) in try reader.schedules(due: now, limit: limit) }
    }

    public func nextScheduleAt() async throws(StoreError) -> Timestamp? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.nextScheduleAt() }
    }

    public func refusedScheduleCount() async throws(StoreError) -> Int {
        try await reading.perform { (reader) throws(PostgresError) in try reader.refusedScheduleCount() }
    }

    public func plan(_ timings: [ScheduleTiming]) async throws(StoreError) {
        try await write { (writer) throws(PostgresError) in
            for timing in timings { _ = try writer.move(timing) }
        }
    }

    public func fire(_ firing: ScheduleFiring, now: Timestamp) async throws(StoreError) -> FiringOutcome {
        let weight = if case .enqueue(let graph) = firing.work { graph.weight } else { 1 }
        return try await write(weight: weight) { (writer) throws(PostgresError) in try writer.fire(firing, now: now) }
    }

    public func run(
        schedule name: String, _ graph: NewGraph, now: Timestamp
    ) async throws(StoreError) -> EnqueueOutcome? {
        try await write(weight: graph.weight) { (writer) throws(PostgresError) in
            try writer.run(schedule: name, graph, now: now)
        }
    }

    public func setPaused(
        _ isPaused: Bool, schedule name: String, now: Timestamp
    ) async throws(StoreError) -> ScheduleRecord? {
        try await write { (writer) throws(PostgresError) in
            try writer.setPaused(isPaused, schedule: name, now: now)
        }
    }

    // MARK: Observing

    public var condition: StoreCondition { observers.condition }

    public func observe(_ observer: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation {
        observers.add(observer)
    }
}

extension JobChange {
    fileprivate var lease: Lease { Lease(job: job, attempt: attempt) }
}
