import ControlProtocol
import JobFiles
import Jobs
import OperationTypes

/// Carries out every verb on a store: in the daemon or, if no daemon runs, in the process that holds the
/// database's lock.
public final class StoreControl: JobControl {
    let store: any JobStore
    let database: String
    let version: String
    /// Nil if no daemon runs.
    let daemon: DaemonHooks?
    /// Returns the store's current time.
    let now: @Sendable () -> Timestamp
    let currentCatalog: CurrentCatalog
    let spoolUsers: SpoolUsers?
    let files: JobFiles
    let fileThread = FileThread()
    /// Checks contents of kept files. Reading a large one takes minutes, which must not delay other operations.
    let contentThread = FileThread(label: "halyard.job-contents")
    private let settling: StoreObservation?
    private let watchBudget = WatchBudget()
    /// Held during a prune, so that the mark for its crash belongs to one prune.
    let pruning = AsyncSemaphore(1)
    /// Held from the planning of very many jobs until they are written. A small request may create 100,000
    /// jobs. Two turns limit how many jobs are planned at the same time, and how many such writes another write
    /// may have to wait for.
    let manyJobs = AsyncSemaphore(2)
    /// Plans requests with very many jobs, so that they do not occupy the threads that serve other callers.
    let planning = BackgroundExecutor(named: "halyard-planning")

    /// Creates a control.
    ///
    /// - Parameters:
    ///   - database: The path of the database, for the status.
    ///   - version: The version of this program, for the status.
    ///   - daemon: The daemon's contributions; nil if no daemon runs.
    ///   - files: The files of jobs. Default: the daemon's, or the folder `files` next to the database.
    ///   - catalog: The store's catalog, if it is shared with other readers.
    ///   - now: Returns the time of this machine's wall clock.
    public init(
        store: any JobStore, database: String, version: String, daemon: DaemonHooks? = nil,
        files: JobFiles? = nil, catalog: CurrentCatalog? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.database = database
        self.version = version
        self.daemon = daemon
        self.now = { now() + store.clockOffset }
        currentCatalog = catalog ?? CurrentCatalog(store: store)
        let files = files ?? daemon?.files ?? JobFiles(nextTo: database)
        self.files = files
        // Nobody runs jobs without a daemon.
        settling = daemon == nil ? nil : Self.settling(files, fileThread, in: store)
        spoolUsers = daemon?.spool.map { spool in
            SpoolUsers(spool: spool, store: store, home: daemon?.sharesSpool == true ? nil : daemon?.identity)
        }
    }

    public var databasePath: String? { database }

    // MARK: Jobs

    public func job(_ id: JobID) async throws(ControlProblem) -> JobDetail {
        let job = try await record(id)
        let (log, file) = await report(of: job)
        do throws(StoreError) {
            let dependencies = try await store.dependencies(of: id, onlyOpen: false, limit: Self.maxNeighbours)
            let dependents = try await store.dependents(of: id, limit: Self.maxNeighbours)
            let attempts = try await store.attempts(of: id)
            return JobDetail(
                job: job, result: try await store.result(of: id), attempts: attempts, crashes: crashes(in: attempts),
                dependencies: dependencies.jobs, dependents: dependents,
                progress: job.state == .running ? daemon?.progress(id) : nil,
                checkpoint: job.state.isFinal ? nil : try await store.checkpoint(of: id), log: log, file: file,
                daemon: try await store.home(of: id)?.name)
        } catch {
            throw ControlProblem(error)
        }
    }

    private func crashes(in attempts: [AttemptRecord]) -> CrashReport? {
        guard attempts.contains(where: { $0.outcome == .crashed }) else { return nil }
        return CrashReport(counted: CrashCount(of: attempts).counted, limit: daemon?.maxCrashes)
    }

    /// The maximum number of dependencies, and of dependents, that are shown with a job. The job's graph shows all.
    static let maxNeighbours = 1000

    public func result(_ id: JobID) async throws(ControlProblem) -> JobResult? {
        if let result = try await mappingStoreErrors(await store.result(of: id)) { return result }
        _ = try await record(id)
        return nil
    }

    public func cancel(_ target: CancelTarget) async throws(ControlProblem) -> [CancelAnswer] {
        switch target {
        case .jobs(let ids):
            let results = try await mappingStoreErrors(await store.cancel(ids, now: now()))
            return zip(ids, results).map { CancelAnswer(job: $0, result: $1) }
        case .graph(let id):
            let results = try await mappingStoreErrors(await store.cancel(graph: id, now: now()))
            guard let results else { throw .noGraph(id) }
            return results.sorted { $0.key < $1.key }.map { CancelAnswer(job: $0.key, result: $0.value) }
        }
    }

    public func prune(_ request: PruneRequest) async throws(ControlProblem) -> PruneAnswer {
        guard await pruning.wait() else { throw .endedBeforeItsTurn }
        defer { pruning.signal() }
        let files = files
        // Without a daemon, the files are on the hosts of the daemons: each removes its own when it starts.
        if daemon == nil, store.capabilities.holders == .many { return try await pruneRecords(request) { _ in } }
        // A crash or an error during an earlier prune may have left files anywhere.
        let wasCut = try await fileThread.run { () throws(JobFilesError) in
            let wasCut = files.isPruning
            try files.beginPruning()
            return wasCut
        }
        let answer = try await pruneRecords(request) { (numbers) async throws(ControlProblem) in
            await spoolUsers?.releasePruned(numbers)
            if !wasCut { try await removeFilesOfPruned(numbers) }
        }
        if wasCut { try await removeFilesOfPruned(0..<Int64.max) }
        try await fileThread.run { () throws(JobFilesError) in try files.endPruning() }
        return answer
    }

    /// Prunes jobs in steps.
    ///
    /// - Parameter removeFiles: Called after each step that deleted jobs, with a range that contains their numbers.
    private func pruneRecords(
        _ request: PruneRequest, removeFiles: (Range<Int64>) async throws(ControlProblem) -> Void
    ) async throws(ControlProblem) -> PruneAnswer {
        var answer = PruneAnswer(deleted: 0)
        var below: JobID?
        repeat {
            let step = try await mappingStoreErrors(await store.prune(request, below: below, limit: Self.pruneChunk))
            answer.add(step)
            if step.deleted > 0 { try await removeFiles((step.next?.rawValue ?? 0)..<(below?.rawValue ?? .max)) }
            below = step.next
        } while below != nil && !Task.isCancelled
        return answer
    }

    private static let pruneChunk = 1000

    // MARK: Watching

    public func watch(
        _ scope: WatchScope
    ) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error> {
        let watch = Watch(
            scope: scope, store: store, budget: watchBudget, observeProgress: daemon?.observeProgress)
        switch scope {
        case .job(let id): _ = try await record(id)
        case .graph(let id):
            guard try await mappingStoreErrors(await store.graph(id)) != nil else {
                throw .noGraph(id)
            }
        case .all: break
        }
        return AsyncThrowingStream { try await watch.next() }
    }

    // MARK: The daemon

    public func status() async throws(ControlProblem) -> StatusReport {
        let condition = await daemon?.condition()
        do throws(StoreError) {
            let queues = try await store.queues()
            // The stored problems are enough here. Planning each schedule again would take long, and the status
            // is read often.
            let scheduleProblems = try await store.schedules().compactMap { record in
                Self.storedProblem(of: record).map { "schedule \"\(record.schedule.name)\": \($0)" }
            }
            let state = if let condition { condition.state } else { try await stateWithoutDaemon() }
            return StatusReport(
                state: state, pid: condition?.pid, version: version, database: database,
                startedAt: condition?.startedAt, counts: try await store.counts(),
                queues: queues, nextDueAt: try await nextDueAt(), spool: spoolUsers?.report,
                problems: (condition?.problems ?? []) + (try await currentCatalog.read().problems.map(\.description))
                    + scheduleProblems)
        } catch {
            throw ControlProblem(error)
        }
    }

    /// The state of the other daemons, if several may share the database.
    private func stateWithoutDaemon() async throws(StoreError) -> StatusReport.State {
        if store.capabilities.holders == .one { return .stopped }
        return try await store.holders().contains { $0.endedAt == nil } ? .running : .stopped
    }

    /// Returns the next time at which a job or a schedule is due.
    private func nextDueAt() async throws(StoreError) -> Timestamp? {
        [try await store.nextDueAt(), try await store.nextScheduleAt()].compactMap(\.self).min()
    }

    public func reload() async throws(ControlProblem) -> ReloadReport {
        guard let daemon else { throw .needsDaemon("Reloading") }
        return try await daemon.reload()
    }

    public func workers() async throws(ControlProblem) -> [WorkerRecord] {
        guard let daemon else { throw .needsDaemon("Listing the workers") }
        return daemon.workers()
    }

    public func spool<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8] {
        guard let spoolUsers else { throw .needsDaemon("Keeping a file for a job") }
        return try await spoolUsers.keep(chunks, size: size, now: now())
    }

    /// Reads which jobs need files of the spool, and removes files that no job has named for a day. Call it
    /// once, before jobs run. Does nothing without a spool.
    ///
    /// - Throws: ``ControlProblem`` if the folder or the database cannot be read. Retrying is safe.
    public func recoverSpool() async throws(ControlProblem) { try await spoolUsers?.recover(now: now()) }

    // MARK: Shared by the verbs

    /// Checks a change to definitions or queues, and writes it. If the settings change between the two, by another
    /// caller or another daemon, checks it again.
    ///
    /// - Parameter attempt: Checks the change with the definitions of the catalog, and writes it with their version
    ///   (``DefinitionSet/version``).
    func checking<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ attempt: (Catalog) async throws(ControlProblem) -> ChangeOutcome<Value>
    ) async throws(ControlProblem) -> Value {
        for _ in 1...Self.maxChecks {
            if case .changed(let value) = try await attempt(try await readCatalog()) { return value }
            // The store's notification may not have arrived yet.
            currentCatalog.forget()
        }
        throw ControlProblem(
            .unavailable, "The definitions or queues kept changing while this change was checked. Try again.")
    }

    /// How often a change is checked before it is given up. Each repetition means that another change was stored.
    private static let maxChecks = 100

    /// Returns the current definitions.
    func readCatalog() async throws(ControlProblem) -> Catalog {
        try await mappingStoreErrors(await currentCatalog.read())
    }

    func record(_ id: JobID) async throws(ControlProblem) -> JobRecord {
        guard let job = try await mappingStoreErrors(await store.job(id)) else { throw .noJob(id) }
        return job
    }
}

extension PruneAnswer {
    fileprivate mutating func add(_ step: PruneStep) {
        deleted += step.deleted
        keptByGraph += step.keptByGraph
        keptByDependents += step.keptByDependents
    }
}

extension ControlProblem {
    static let endedBeforeItsTurn = ControlProblem(
        .unavailable, "The request ended before it was handled. Send it again.")

    static func needsDaemon(_ verb: String) -> ControlProblem {
        ControlProblem(.noDaemon, "\(verb) needs the daemon, but none is running. Start halyardd.")
    }
}
