import Jobs
import SQLite
import StoreParts
import Synchronization

/// The writer's copy of some rows, in memory. There is only one writer (P13), so the copy always equals the rows. After
/// a rollback it is read from the database again.
struct Memory {
    /// All queues, including removed ones. There may be many, so no frequent operation iterates over them (P9).
    var queues: [QueueMemory] = []
    /// The index of each queue that was not removed, by name.
    private(set) var queueByName: [String: Int] = [:]
    /// The indices of the queues that were not removed, in order.
    private(set) var liveQueues: [Int] = []
    /// The indices of the queues whose tally differs from its row.
    private(set) var changedTallies: [Int] = []
    /// The index in ``kinds`` of the kind of every revision of a definition.
    private(set) var definitions: [DefinitionID: Int] = [:]
    /// A number for each kind that a definition names.
    private(set) var kinds: [String: Int] = [:]
    /// Running jobs. The dictionary is complete: a job that is not in it is not running.
    var running: [JobID: RunningJob] = [:]
    /// The jobs with a checkpoint. The set is complete, so a claim and an end need no statement for other jobs.
    var checkpointed: Set<JobID> = []
    /// Open long work, ordered by how long it has waited, longest first.
    var work: [LongWork] = []
    /// Accepted graphs whose jobs are being written.
    var writing: [GraphID: AcceptedGraph] = [:]
    var settling: [JobID: SettlingJob] = [:]
    var cancelling: [GraphID: CancellingGraph] = [:]
    var pruning: [GraphID: PruningPhase] = [:]
    /// The version of the definitions, schedules, queues and kinds.
    var settingsVersion = SettingsVersion(1)
    var nextJob: Int64 = 1
    var nextGraph: Int64 = 1

    /// The highest valid number of a job or a graph.
    static let maxNumber: Int64 = 1 << 60

    /// Returns the index of the queue whose number was read from a row.
    ///
    /// - Throws: An error that reports damage, if there is no such queue.
    func queueIndex(id: Int64) throws(SQLiteError) -> Int {
        // Numbers start at 1 and no row is ever deleted.
        guard id >= 1, id <= queues.count else { throw .damaged("a row refers to queue \(id), which does not exist") }
        return Int(id) - 1
    }

    var scheduled: Int64 { liveQueues.reduce(0) { $0 + queues[$1].tally[.scheduled] } }

    /// Adds a revision of a definition.
    mutating func admit(_ definition: DefinitionID, kind: String) {
        let index = kinds[kind] ?? kinds.count
        kinds[kind] = index
        definitions[definition] = index
    }

    /// The index of a definition's kind in ``kinds``.
    func kind(of definition: DefinitionID) -> Int {
        // Jobs refer only to definitions that exist, so no kind has the number -1.
        definitions[definition] ?? -1
    }

    /// The class of a job that is not a suspect.
    func roomClass(of definition: DefinitionID) -> RoomClass { .kind(kind(of: definition)) }

    /// Marks a new or reused queue as live.
    mutating func admit(queue index: Int) {
        queues[index].isRemoved = false
        queueByName[queues[index].settings.name] = index
        liveQueues.append(index)
        liveQueues.sort()
    }

    mutating func dismiss(queue index: Int) {
        queues[index].isRemoved = true
        queueByName[queues[index].settings.name] = nil
        liveQueues.removeAll { $0 == index }
    }

    @inline(__always)
    mutating func count(queue index: Int, _ change: (inout Tally) -> Void) {
        change(&queues[index].tally)
        if queues[index].isTallyChanged { return }
        queues[index].isTallyChanged = true
        changedTallies.append(index)
    }

    mutating func talliesAreWritten() {
        for index in changedTallies { queues[index].isTallyChanged = false }
        changedTallies.removeAll(keepingCapacity: true)
    }
}

struct QueueMemory {
    let id: Int64
    var settings: QueueSettings
    var pausedAt: Timestamp?
    /// Whether the queue was removed. A removed queue has no open jobs, and no definition or schedule names it.
    var isRemoved = false
    var tally: Tally
    var isTallyChanged = false
    /// The jobs that claims have skipped for lack of room, by priority as in ``ClaimStatements/ready``; nil if a claim has
    /// never skipped any.
    var passed: [PassedJobs]?

    var record: QueueRecord { QueueRecord(settings: settings, pausedAt: pausedAt, counts: tally.counts) }

    /// The number of ready jobs in the queue that may start now. The database has one daemon, so the smaller limit
    /// applies.
    var claimable: Int {
        guard pausedAt == nil else { return 0 }
        return max(0, min(Int(tally[.ready]), settings.mostPerDaemon - Int(tally[.running])))
    }
}

/// An accepted graph, or small graphs and lone jobs that were accepted together under the number of one graph.
struct AcceptedGraph {
    /// The key in ``Unstored/needed`` for the outside jobs that it depends on.
    let needs: Int
    let isGraph: Bool
}

/// State that the writer keeps only in memory. It is empty when the store opens; a rollback restores the state from
/// before the transaction.
struct Unstored {
    /// Graphs whose parts are being stored. The set is empty when the store opens, so the parts of graphs that were
    /// never accepted are deleted then.
    var unaccepted: Set<GraphID> = []
    /// Jobs that must not be pruned, since graphs whose edges are not written yet depend on them. The keys come from
    /// ``Writer/makeNeeds()``.
    var needed: [Int: Set<JobID>] = [:]
    /// Cancel requests that take several transactions.
    var cancelledTogether: [JointCancellation] = []
    var trials = CrashTrials()
    /// The life that lasts; nil before the first one begins.
    var holder: HolderID?
    var reports: [LongWork: LongWorkReport] = [:]
}

/// Jobs that one request cancels in several transactions.
struct JointCancellation {
    /// Lets the request report that it is over, even if it failed: a failed request must not cancel jobs later.
    final class Request: Sendable {
        private let flag = Atomic(false)
        var isOver: Bool { flag.load(ordering: .acquiring) }
        func end() { flag.store(true, ordering: .releasing) }
    }

    let request: Request
    let jobs: Set<JobID>
    /// Jobs that were cancelled before their turn, because they would have been started or skipped.
    var early: Set<JobID> = []
}

struct RunningJob {
    var attempt: Int
    var queue: Int
    var graph: GraphID?
    var startedAt: Timestamp
    /// The life that claimed the job; nil if a release without holders did.
    var holder: HolderID?
    var isCancelRequested: Bool
}
