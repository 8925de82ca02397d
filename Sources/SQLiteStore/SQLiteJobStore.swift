import Jobs
import SQLite
import StoreParts
import Synchronization

/// A job store in one SQLite file.
///
/// The writes of all callers use one connection on its own thread and share commits (``GroupCommit``). Reads use other
/// connections, so that reads and writes do not wait for each other. You can read the file with `sqlite3` at any time.
public final class SQLiteJobStore: JobStore {
    /// The database's path, with symbolic links resolved.
    public let path: String

    /// The writer; nil if the store is open only for reading.
    let writing: GroupCommit?
    /// The thread for reads that running jobs wait for.
    let reading: RequestThread<Reader>
    /// The thread for listings, which may take long.
    let listing: RequestThread<Reader>
    /// The life of this process; nil if it has none.
    let ownLife = Mutex<HolderID?>(nil)

    private init(path: String, writing: GroupCommit?, reading: RequestThread<Reader>, listing: RequestThread<Reader>) {
        self.path = path
        self.writing = writing
        self.reading = reading
        self.listing = listing
    }

    // MARK: Opening and closing

    /// Opens the database that `lock` protects. Creates the database if there is no file; never replaces a file (P11).
    ///
    /// Migrates an older schema. The store keeps the lock until it is closed. If opening fails, the lock stays with the
    /// caller.
    ///
    /// - Throws: ``StoreOpenError``. Trying again later is safe.
    public static func open(
        _ lock: DatabaseLock, options: StoreOptions = StoreOptions(), clock: any StoreClock = SystemStoreClock()
    ) throws(StoreOpenError) -> SQLiteJobStore {
        let opening = try Opening(lock, options, clock)
        let path = opening.location.path
        // Open the readers here as well: they recover and read as the writer does, so they can meet the same errors.
        let (writer, reader, lister, files) = try opening.open { (connection) throws(StoreOpenError) in
            (
                try opening.writer(on: connection),
                try newReader(opening.location.connectForReading(options), path, clock),
                try newReader(opening.location.connectForReading(options), path, clock), try opening.files()
            )
        }
        let suspect: @Sendable () -> Void = { lock.note { $0.suspectsDamage = true } }
        let reading = try thread(named: "halyard-reader", reader, path, onDamage: suspect)
        let listing = try thread(named: "halyard-lists", lister, path, onDamage: suspect)
        // This is the last step, because from here on the store owns the lock.
        let writing = try GroupCommit(Handover(writer), files: files, lock: lock, options: options)
        return SQLiteJobStore(path: path, writing: writing, reading: reading, listing: listing)
    }

    /// Opens an existing database for reading, even while a daemon uses it. Every write to this store fails with
    /// `StoreError.readOnly`.
    ///
    /// - Throws: ``StoreOpenError``, such as `missingFile`, or `schemaTooOld` if no daemon of this release has opened
    ///   the database yet.
    public static func openReadOnly(
        at path: String, options: StoreOptions = StoreOptions(), clock: any StoreClock = SystemStoreClock()
    ) throws(StoreOpenError) -> SQLiteJobStore {
        let location = try DatabaseLocation(path)
        let reader = try location.openForReading(options) { (connection) throws(StoreOpenError) -> Reader in
            try newReader(connection, location.path, clock)
        }
        let thread = try thread(named: "halyard-reader", reader, location.path)
        return SQLiteJobStore(path: location.path, writing: nil, reading: thread, listing: thread)
    }

    private static func newReader(
        _ connection: Connection, _ path: String, _ clock: any StoreClock
    ) throws(StoreOpenError) -> Reader {
        try mappingErrors(at: path) { () throws(SQLiteError) in try Reader(connection, clock: clock) }
    }

    private static func thread(
        named name: String, _ reader: Reader, _ path: String, onDamage: @escaping @Sendable () -> Void = {}
    ) throws(StoreOpenError) -> RequestThread<Reader> {
        try RequestThread(named: name, Handover(ReadLoop(reader: reader, path: path, onDamage: onDamage)))
    }

    /// Carries out the requests made so far, closes the file and releases the lock. Later requests fail with
    /// `StoreError.closed`.
    public func close() async {
        await reading.close()
        await listing.close()
        await writing?.close()
    }

    /// The used size of the write-ahead log after the last commit, in bytes. It stays near
    /// ``StoreOptions/checkpointPages`` (pages of 4096 bytes). If it grows far beyond that, another program holds a
    /// read transaction open (an `sqlite3` shell?), and the file grows until that transaction ends.
    public var logBytes: Int { (writing?.logPages.count.load(ordering: .relaxed) ?? 0) * 4096 }

    /// Whether the store notices at once when one of its files is removed or replaced, even while it writes nothing,
    /// and then reports that it has stopped. False if the kernel's limit on watches is reached
    /// (`fs.inotify.max_user_instances`).
    public var isWatchingFiles: Bool { writing?.watch != nil }

    /// Frees the database pages that are cached in memory. Later reads load them again.
    public func releaseMemory() async -> Int {
        var bytes = 0
        for thread in [reading, listing] {
            // Losing this error is harmless: a closed store has no cached pages.
            bytes += (try? await thread.perform { (reader) throws(SQLiteError) in reader.releaseMemory() }) ?? 0
        }
        // The same holds for the writer of a closed store. A read-only store has no writer.
        bytes += (try? await write { (writer) throws(SQLiteError) in writer.connection.releaseMemory() }) ?? 0
        return bytes
    }

    /// The lock on the database; nil if the store is open only for reading.
    var lock: DatabaseLock? { writing?.lock }

    func write<Value: Sendable>(
        weight: Int = 1, _ body: @escaping @Sendable (Writer) throws(SQLiteError) -> Value
    ) async throws(StoreError) -> Value {
        guard let writing else { throw .readOnly(path: path) }
        return try await writing.thread.perform(weight: weight, body)
    }

    /// Reads of more than 1,000 rows use the thread for listings, so that running jobs do not wait for them.
    private func thread(forRows limit: Int) -> RequestThread<Reader> { limit > 1000 ? listing : reading }

    // MARK: Jobs

    public func trials(now: Timestamp) async throws(StoreError) -> CrashTrials.Report? {
        guard let writing else { return nil }
        return try await writing.thread.perform { (writer) throws(SQLiteError) in writer.reportTrials(now: now) }
    }

    public func save(
        _ checkpoints: [CheckpointSave], by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> [SaveResult] {
        try await write(weight: checkpoints.count) { (writer) throws(SQLiteError) in
            try writer.save(checkpoints, by: holder, now: now)
        }
    }

    // MARK: Settings

    public func change(
        _ queue: QueueChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<QueueRecord> {
        try await write { (writer) throws(SQLiteError) in
            guard writer.isCurrent(version) else { return .outdated }
            return .changed(try writer.change(queue, now: now))
        }
    }

    public func removeQueue(_ name: String, now: Timestamp) async throws(StoreError) -> QueueRemoval {
        try await write { (writer) throws(SQLiteError) in try writer.removeQueue(name, now: now) }
    }

    public func change(
        _ definitions: DefinitionChange, checkedAt version: SettingsVersion?, now: Timestamp
    ) async throws(StoreError) -> ChangeOutcome<SettingsVersion> {
        let outcome: ChangeOutcome<SettingsVersion>? = try await write { (writer) throws(SQLiteError) in
            guard writer.isCurrent(version) else { return .outdated }
            return try writer.change(definitions, now: now) ? .changed(writer.memory.settingsVersion) : nil
        }
        guard let outcome else { throw .tooManySchedules(limit: Schedule.maxCount) }
        return outcome
    }

    public func register(
        _ kinds: [KindDescription], by holder: HolderID, now: Timestamp
    ) async throws(StoreError) {
        try await write { (writer) throws(SQLiteError) in try writer.register(kinds, now: now) }
    }

    public func recordProblems(_ problems: [String: String], by holder: HolderID) async throws(StoreError) {
        try await write { (writer) throws(SQLiteError) in try writer.recordProblems(problems) }
    }

    // MARK: Schedules

    public func schedules() async throws(StoreError) -> [ScheduleRecord] {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.allSchedules() }
    }

    public func schedule(_ name: String) async throws(StoreError) -> ScheduleRecord? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.schedule(name) }
    }

    public func schedules(due now: Timestamp, limit: Int) async throws(StoreError) -> [ScheduleRecord] {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.schedules(due: now, limit: limit) }
    }

    public func nextScheduleAt() async throws(StoreError) -> Timestamp? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.nextScheduleAt() }
    }

    public func refusedScheduleCount() async throws(StoreError) -> Int {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.refusedScheduleCount() }
    }

    public func plan(_ timings: [ScheduleTiming]) async throws(StoreError) {
        try await write { (writer) throws(SQLiteError) in
            for timing in timings { _ = try writer.move(timing) }
        }
    }

    public func setPaused(
        _ isPaused: Bool, schedule name: String, now: Timestamp
    ) async throws(StoreError) -> ScheduleRecord? {
        try await write { (writer) throws(SQLiteError) in try writer.setPaused(isPaused, schedule: name, now: now) }
    }

    // MARK: Reading

    public func definitions() async throws(StoreError) -> DefinitionSet {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.definitionSet() }
    }

    public func definition(_ id: DefinitionID) async throws(StoreError) -> StoredDefinition? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.definition(id) }
    }

    public func outcome(of key: IdempotencyKey) async throws(StoreError) -> EnqueueOutcome? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.keys.outcome(of: key) }
    }

    public func job(_ id: JobID) async throws(StoreError) -> JobRecord? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.job(id) }
    }

    public func unwritten(from position: UnwrittenPage.Position?) async throws(StoreError) -> UnwrittenPage {
        try await listing.perform { (reader) throws(SQLiteError) in try reader.unwritten(from: position) }
    }

    public func page(_ filter: JobFilter) async throws(StoreError) -> JobPage {
        try await listing.perform { (reader) throws(SQLiteError) in try reader.page(filter) }
    }

    public func result(of job: JobID) async throws(StoreError) -> JobResult? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.result(of: job) }
    }

    public func attempts(of job: JobID) async throws(StoreError) -> [AttemptRecord] {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.attempts(of: job) }
    }

    public func checkpoint(of job: JobID) async throws(StoreError) -> Checkpoint? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.checkpoint(of: job) }
    }

    public func dependencies(
        of job: JobID, onlyOpen: Bool, limit: Int
    ) async throws(StoreError) -> Neighbours {
        try await thread(forRows: limit).perform { (reader) throws(SQLiteError) in
            try reader.dependencies(of: job, onlyOpen: onlyOpen, limit: limit)
        }
    }

    public func dependents(of job: JobID, limit: Int) async throws(StoreError) -> [Neighbour] {
        try await thread(forRows: limit).perform { (reader) throws(SQLiteError) in
            try reader.dependents(of: job, limit: limit)
        }
    }

    public func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) async throws(StoreError) -> DependencyOutputs {
        try await reading.perform { (reader) throws(SQLiteError) in
            try reader.outputs(ofDependenciesOf: job, wanted, maxBytes: maxBytes)
        }
    }

    public func graph(_ id: GraphID) async throws(StoreError) -> GraphRecord? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.graph(id) }
    }

    public func graphs(limit: Int, before: GraphID?) async throws(StoreError) -> [GraphRecord] {
        try await listing.perform { (reader) throws(SQLiteError) in try reader.graphs(limit: limit, before: before) }
    }

    public func edges(
        of graph: GraphID, after: EdgePosition?, limit: Int
    ) async throws(StoreError) -> EdgePage {
        try await listing.perform { (reader) throws(SQLiteError) in
            try reader.edges(of: graph, after: after, limit: limit)
        }
    }

    public func queues() async throws(StoreError) -> [QueueRecord] {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.queues() }
    }

    public func counts() async throws(StoreError) -> StateCounts {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.counts() }
    }

    public func nextDueAt() async throws(StoreError) -> Timestamp? {
        try await reading.perform { (reader) throws(SQLiteError) in try reader.nextDueAt() }
    }

    public func isAtRest(now: Timestamp) async throws(StoreError) -> Bool {
        try await write { (writer) throws(SQLiteError) in try writer.isAtRest(now: now) }
    }

    // MARK: Observing

    public var condition: StoreCondition { writing?.observers.condition ?? StoreCondition() }

    public func observe(_ observer: @escaping @Sendable (StoreChange) -> Void) -> StoreObservation {
        // A store that only reads never changes anything.
        writing?.observers.add(observer) ?? StoreObservation {}
    }
}
