/// A schedule as the store keeps it.
public struct ScheduleRecord: Hashable, Sendable {
    public var schedule: Schedule
    /// From 1; another one after each change, also a pause. One that was removed and written again begins anew, so only
    /// together with `updatedAt` it says which row was read.
    public var revision: Int
    public var updatedAt: Timestamp
    /// Its next time is the first one after this moment.
    public var after: Timestamp
    /// Nil while it is paused, has not been planned yet, or never comes again.
    public var nextAt: Timestamp?
    public var pausedAt: Timestamp?
    /// The time it was last fired for.
    public var lastAt: Timestamp?
    /// Of that time; a graph's first job.
    public var lastJob: JobID?
    public var lastGraph: GraphID?
    /// The last time that was left out, since the one before was not final.
    public var skippedAt: Timestamp?
    /// Why nothing could be enqueued when it was last to.
    public var problem: String?
    /// Why the stored row is invalid; `schedule` then has a name but no times.
    public var unreadable: String?
    /// The real time since the schedule last fired, skipped a time, or was written or resumed, even if the wall clock
    /// was set since.
    public var sinceLast: Duration

    public init(
        schedule: Schedule, revision: Int, updatedAt: Timestamp, after: Timestamp, nextAt: Timestamp? = nil,
        pausedAt: Timestamp? = nil, lastAt: Timestamp? = nil, lastJob: JobID? = nil, lastGraph: GraphID? = nil,
        skippedAt: Timestamp? = nil, problem: String? = nil, unreadable: String? = nil, sinceLast: Duration = .zero
    ) {
        self.schedule = schedule
        self.revision = revision
        self.updatedAt = updatedAt
        self.after = after
        self.nextAt = nextAt
        self.pausedAt = pausedAt
        self.lastAt = lastAt
        self.lastJob = lastJob
        self.lastGraph = lastGraph
        self.skippedAt = skippedAt
        self.problem = problem
        self.unreadable = unreadable
        self.sinceLast = sinceLast
    }
}

/// Says when a schedule comes next, for the row as it was read.
public struct ScheduleTiming: Hashable, Sendable {
    public var name: String
    public var revision: Int
    /// ``ScheduleRecord/updatedAt`` as it was read: not that of a predecessor of the same name.
    public var updatedAt: Timestamp
    /// ``ScheduleRecord/nextAt`` as it was read.
    public var expected: Timestamp?
    public var after: Timestamp
    /// Later than `after`.
    public var nextAt: Timestamp?
    public var problem = ProblemChange.keep

    /// What becomes of ``ScheduleRecord/problem``.
    public enum ProblemChange: Hashable, Sendable {
        case keep
        case write(String?)
    }

    public init(_ record: ScheduleRecord, after: Timestamp, nextAt: Timestamp?) {
        name = record.schedule.name
        revision = record.revision
        updatedAt = record.updatedAt
        expected = record.nextAt
        self.after = after
        self.nextAt = nextAt
    }
}

/// What a schedule came to when it was planned.
public enum ScheduledWork: Hashable, Sendable {
    case enqueue(NewGraph)
    /// Why not, for people.
    case refused(String)
}

/// One time of a schedule.
public struct ScheduleFiring: Hashable, Sendable {
    /// The schedule's next time, and what comes after it.
    public var timing: ScheduleTiming
    public var work: ScheduledWork

    public init(_ timing: ScheduleTiming, _ work: ScheduledWork) {
        self.timing = timing
        self.work = work
    }
}

/// What became of one time. In each case but the last the schedule has moved on.
public enum FiringOutcome: Hashable, Sendable {
    case fired(EnqueueReceipt)
    /// The last one's job or graph is not final, and the schedule does not allow that.
    case skipped(lastJob: JobID, lastGraph: GraphID?)
    /// Nothing could be enqueued; the reason is kept with the schedule.
    case refused(String)
    /// The schedule is not as it was read: fired already, changed, paused or removed. Nothing was written.
    case stale
}
