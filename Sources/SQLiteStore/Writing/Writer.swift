import Jobs
import SQLite
import StoreParts

/// The only connection that writes, with its statements and its memory. Only its own thread uses it.
///
/// Each verb is an extension in its own folder, next to its statements. A verb runs inside a transaction that
/// ``GroupCommit`` begins and commits; it may run again after a rollback, so it keeps nothing outside ``memory`` and
/// the changes of the transaction.
final class Writer {
    let connection: Connection
    let lock: DatabaseLock
    var path: String { lock.databasePath }
    var memory = Memory()
    var shares = FairShare()
    var unstored = Unstored()
    private var unstoredAtBegin = Unstored()
    /// Trials of jobs that were running in several crashes. They are not stored: each start derives them from the
    /// attempts.
    var trials: CrashTrials {
        get { unstored.trials }
        _modify { yield &unstored.trials }
    }
    var steady: SteadyClock

    // IMMEDIATE takes the write lock at once: a transaction that begins as a reader cannot wait for another writer when
    // it writes.
    private let begin = Statement("BEGIN IMMEDIATE")
    private let end = Statement("COMMIT")
    private let undo = Statement("ROLLBACK")
    let remembering = RememberStatements()
    let flushing = FlushStatements()
    let enqueueing = EnqueueStatements()
    let claiming = ClaimStatements()
    let finishing = FinishStatements()
    let checkpointing = CheckpointStatements()
    let settling = SettleStatements()
    let cancelling = CancelStatements()
    let rescuing = RescueStatements()
    let holding = HoldStatements()
    let pruning = PruneStatements()
    let settings = SettingsStatements()
    let scheduling = ScheduleStatements()
    let writing = WritingStatements()
    let clock = ClockStatements()

    // MARK: Long work

    private var lastNeeds = 0
    var waiters: [LongWork: [any LongWorkWaiter]] = [:]
    var endedWork: [LongWork] = []
    /// Work that is set aside after a failure. Kept across a rollback, after which ``memory`` lists all open work
    /// again.
    var setAside: [LongWork: SetAside] = [:]
    /// The work to which the last slice belonged.
    var sliced: LongWork?

    /// Returns a new key for ``Unstored/needed``.
    func makeNeeds() -> Int {
        lastNeeds += 1
        return lastNeeds
    }

    // MARK: The running transaction

    /// How many more dependents the running transaction may release or skip.
    var settlingRows = Writer.rowsPerSlice

    /// Whether another claim may find jobs that this one has not reached.
    var claimsAgain = false
    /// The number of jobs without room that one claim may skip, so that no transaction takes long.
    var maxSkips = 2000

    /// The changes to the counts of graphs, which ``flush()`` writes.
    var graphChanges: [GraphID: GraphChange] = [:]
    /// Whether there are observers. Without observers, changes to jobs are not recorded.
    var isObserved = false
    var jobChanges: [JobChange] = []
    var acceptedJobs: [UnwrittenJob] = []
    var queuesChanged = false { didSet { noteSettings(queuesChanged) } }
    var definitionsChanged = false { didSet { noteSettings(definitionsChanged) } }
    var schedulesChanged = false { didSet { noteSettings(schedulesChanged) } }
    var holdersChanged = false
    /// Whether ``Memory/settingsVersion`` differs from its row.
    private(set) var settingsChanged = false

    private func noteSettings(_ haveChanged: Bool) {
        guard haveChanged else { return }
        settingsChanged = true
        memory.settingsVersion = SettingsVersion(memory.settingsVersion.rawValue + 1)
    }

    /// Whether a change that was checked with this version of the settings is still valid.
    func isCurrent(_ version: SettingsVersion?) -> Bool { version == nil || version == memory.settingsVersion }

    init(_ connection: Connection, lock: DatabaseLock, clock storeClock: any StoreClock) throws(SQLiteError) {
        self.connection = connection
        self.lock = lock
        steady = SteadyClock(storeClock)
        try connection.prepare(statementsOf: self)
        try remember()
    }

    /// Begins a transaction.
    ///
    /// - Parameter isObserved: Whether to record the changes to jobs for observers.
    func begin(isObserved: Bool) throws(SQLiteError) {
        self.isObserved = isObserved
        unstored.cancelledTogether.removeAll(where: \.request.isOver)
        unstoredAtBegin = unstored
        settlingRows = Self.rowsPerSlice
        claimsAgain = false
        try begin.run()
        steady.read()
    }

    /// Commits the transaction. If this throws, it is unknown whether the transaction is stored.
    func commit() throws(SQLiteError) {
        try end.run()
        // With a second reference, each change of `unstored` would copy all of it.
        unstoredAtBegin = Unstored()
    }

    /// Undoes the transaction, in the database and in memory.
    func rollBack() throws(SQLiteError) {
        forgetChanges()
        unstored = unstoredAtBegin
        endedWork = []
        // After some errors SQLite has already rolled back.
        connection.resetStatements()
        if !connection.isAutocommit { try undo.run() }
        try remember()
    }

    /// Returns the committed changes for the observers.
    func takeChanges() -> [StoreChange] {
        var changes: [StoreChange] = []
        // The accepted jobs come first, because the same commit may end another job whose file one of them needs.
        if !acceptedJobs.isEmpty { changes.append(.accepted(acceptedJobs)) }
        if !jobChanges.isEmpty { changes.append(.jobs(jobChanges)) }
        if queuesChanged { changes.append(.queues) }
        if definitionsChanged { changes.append(.definitions) }
        if schedulesChanged { changes.append(.schedules) }
        if holdersChanged { changes.append(.holders) }
        forgetChanges()
        return changes
    }

    private func forgetChanges() {
        graphChanges.removeAll(keepingCapacity: true)
        jobChanges.removeAll(keepingCapacity: true)
        acceptedJobs = []
        queuesChanged = false
        definitionsChanged = false
        schedulesChanged = false
        holdersChanged = false
        settingsChanged = false
    }

    // MARK: Recording changes

    /// Counts a job's move from one state to another.
    @inline(__always)
    func count(queue: Int, graph: GraphID?, from old: JobState, to new: JobState, now: Timestamp) {
        memory.count(queue: queue) { $0.move(from: old, to: new) }
        if let graph { graphChanges[graph, default: GraphChange(at: now)].move(from: old, to: new, now: now) }
    }

    /// Records a job's change for the observers, if there are any.
    @inline(__always)
    func note(
        _ job: JobID, graph: GraphID?, state: JobState, attempt: Int, isCancelRequest: Bool = false,
        dueAt: Timestamp? = nil, cause: JobChange.Cause? = nil, input: JSONText? = nil
    ) {
        guard isObserved else { return }
        jobChanges.append(
            JobChange(
                job: job, graph: graph, state: state, attempt: attempt, isCancelRequest: isCancelRequest, dueAt: dueAt,
                cause: cause, input: input))
    }
}

/// The changes that one transaction makes to a graph's counts, and the time of the last of them.
struct GraphChange {
    var tally = Tally()
    var at: Timestamp

    init(at: Timestamp) { self.at = at }

    mutating func move(from old: JobState, to new: JobState, now: Timestamp) {
        tally.move(from: old, to: new)
        at = max(at, now)
    }
}
