import Jobs

/// What the writer knows without asking the database. It is the only writer (P13), so this is always what the rows say;
/// after a rollback it is read again.
struct Memory {
    var queues: [QueueMemory] = []
    /// Without those that were removed.
    var queueByName: [String: Int] = [:]
    var definitions: Set<DefinitionID> = []
    /// By job. Complete: a job that is not here is not running.
    var running: [JobID: RunningJob] = [:]
    var nextJob: Int64 = 1
    var nextGraph: Int64 = 1

    func queueIndex(id: Int64) -> Int {
        // Numbers start at 1 and no row is ever deleted.
        Int(id) - 1
    }

    var scheduled: Int64 { queues.reduce(0) { $0 + $1.tally[.scheduled] } }
}

struct QueueMemory {
    let id: Int64
    var settings: QueueSettings
    var pausedAt: Timestamp?
    /// None of its jobs is open, and nothing names it.
    var isRemoved = false
    var tally: Tally
    /// The tally differs from its row.
    var isTallyChanged = false

    var record: QueueRecord { QueueRecord(settings: settings, pausedAt: pausedAt, counts: tally.counts) }

    /// How many of its ready jobs may start now.
    var claimable: Int {
        guard pausedAt == nil else { return 0 }
        return max(0, min(Int(tally[.ready]), settings.limit - Int(tally[.running])))
    }
}

struct RunningJob {
    var attempt: Int
    var queue: Int
    var graph: GraphID?
    var startedAt: Timestamp
    var isCancelRequested: Bool
}
