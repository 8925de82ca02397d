import Jobs
import SQLite
import Synchronization

/// The writer's copy of some rows. There is only one writer (P13), so the copy always equals the rows; after a rollback
/// it is read again.
struct Memory {
    /// All queues, including removed ones. There may be many, so no frequent work walks over them (P9).
    var queues: [QueueMemory] = []
    /// The queues that were not removed.
    private(set) var queueByName: [String: Int] = [:]
    /// The indices of the queues that were not removed, in order.
    private(set) var liveQueues: [Int] = []
    /// The indices of the queues whose tally differs from its row.
    private(set) var changedTallies: [Int] = []
    var definitions: Set<DefinitionID> = []
    /// Running jobs. The dictionary is complete: a job that is not in it is not running.
    var running: [JobID: RunningJob] = [:]
    /// Open long work, ordered by how long it has waited, longest first.
    var work: [LongWork] = []
    /// Accepted graphs whose jobs are being written.
    var writing: [GraphID: AcceptedGraph] = [:]
    var settling: [JobID: SettlingJob] = [:]
    var cancelling: [GraphID: CancellingGraph] = [:]
    var pruning: [GraphID: PruningPhase] = [:]
    var nextJob: Int64 = 1
    var nextGraph: Int64 = 1

    /// Job and graph numbers are at most this.
    static let maxNumber: Int64 = 1 << 60

    /// - Throws: If the number of the queue, which a row contains, is not that of any queue.
    func queueIndex(id: Int64) throws(SQLiteError) -> Int {
        // Numbers start at 1 and no row is ever deleted.
        guard id >= 1, id <= queues.count else { throw .damaged("a row names queue \(id), which is not there") }
        return Int(id) - 1
    }

    var scheduled: Int64 { liveQueues.reduce(0) { $0 + queues[$1].tally[.scheduled] } }

    /// The queue is not, or no longer, removed.
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
    /// None of its jobs is open, and nothing names it.
    var isRemoved = false
    var tally: Tally
    var isTallyChanged = false

    var record: QueueRecord { QueueRecord(settings: settings, pausedAt: pausedAt, counts: tally.counts) }

    /// How many of its ready jobs may start now.
    var claimable: Int {
        guard pausedAt == nil else { return 0 }
        return max(0, min(Int(tally[.ready]), settings.limit - Int(tally[.running])))
    }
}

/// A graph, or jobs outside of graphs that are accepted together under the number of a graph.
struct AcceptedGraph {
    /// The key in ``Unstored/needed`` of the jobs outside that it depends on.
    let needs: Int
    let isGraph: Bool
}

/// Facts that the writer keeps in memory only. A start begins without any; a rollback restores those from before the
/// transaction.
struct Unstored {
    /// Graphs whose parts are being stored. The set is empty at a start, so the start deletes the parts of unaccepted
    /// graphs.
    var unaccepted: Set<GraphID> = []
    /// Jobs that must not be pruned, since graphs whose edges are not written yet depend on them. The keys come from
    /// ``Writer/makeNeeds()``.
    var needed: [Int: Set<JobID>] = [:]
    /// Cancel requests that take several transactions.
    var cancelledTogether: [JointCancellation] = []
    var trials = CrashTrials()
    var reports: [LongWork: LongWorkReport] = [:]
}

/// Jobs that one request cancels in several transactions.
struct JointCancellation {
    /// Set by the request when it is over, also when it failed: a failed request must not cancel jobs later.
    final class Request: Sendable {
        private let flag = Atomic(false)
        var isOver: Bool { flag.load(ordering: .acquiring) }
        func end() { flag.store(true, ordering: .releasing) }
    }

    let request: Request
    let jobs: Set<JobID>
    /// Jobs that were cancelled early because they would have been skipped or started.
    var early: Set<JobID> = []
}

struct RunningJob {
    var attempt: Int
    var queue: Int
    var graph: GraphID?
    var startedAt: Timestamp
    var isCancelRequested: Bool
}
