/// A schedule with its state, as stored.
public struct ScheduleRecord: Hashable, Sendable {
    /// The schedule as it was written.
    public var schedule: Schedule
    /// The number of the schedule's current version. It starts at 1 and increases with each change and each pause. A
    /// schedule that was removed and written again starts at 1 again, so only `revision` and `updatedAt` together
    /// identify the row that was read.
    public var revision: Int
    /// When the schedule was last written. Pausing does not change it.
    public var updatedAt: Timestamp
    /// The moment from which times count: the next time is the first one after it.
    public var afterAt: Timestamp
    /// The next time; nil while the schedule is paused, has not been planned yet, or has no further time.
    public var nextAt: Timestamp?
    /// When the schedule was paused; nil while it is not.
    public var pausedAt: Timestamp?
    /// The time for which the schedule last fired.
    public var lastAt: Timestamp?
    /// The job of the last firing, or the first job of its graph.
    public var lastJob: JobID?
    /// The graph of the last firing; nil if it enqueued a single job.
    public var lastGraph: GraphID?
    /// The last time that was skipped because the work of the previous firing was not final.
    public var skippedAt: Timestamp?
    /// The reason why the last firing could not enqueue anything; nil if it could.
    public var problem: String?
    /// The reason why the stored form is invalid. ``schedule`` then has a name but no times.
    public var unreadable: String?
    /// The real time since the schedule last fired, skipped a time, or was written or resumed. It is correct even if
    /// the wall clock was set since then.
    public var sinceLast: Duration

    /// Creates a record from its stored values.
    public init(
        schedule: Schedule, revision: Int, updatedAt: Timestamp, afterAt: Timestamp, nextAt: Timestamp? = nil,
        pausedAt: Timestamp? = nil, lastAt: Timestamp? = nil, lastJob: JobID? = nil, lastGraph: GraphID? = nil,
        skippedAt: Timestamp? = nil, problem: String? = nil, unreadable: String? = nil, sinceLast: Duration = .zero
    ) {
        self.schedule = schedule
        self.revision = revision
        self.updatedAt = updatedAt
        self.afterAt = afterAt
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

/// The next time of a schedule. The store writes it only if the schedule has not changed since it was read.
public struct ScheduleTiming: Hashable, Sendable {
    /// The schedule's name.
    public var name: String
    /// ``ScheduleRecord/revision`` as it was read.
    public var revision: Int
    /// ``ScheduleRecord/updatedAt`` as it was read. It distinguishes the schedule from a predecessor of the same name.
    public var updatedAt: Timestamp
    /// ``ScheduleRecord/nextAt`` as it was read.
    public var expected: Timestamp?
    /// The new ``ScheduleRecord/afterAt``.
    public var after: Timestamp
    /// The new ``ScheduleRecord/nextAt``, which is later than `after`.
    public var nextAt: Timestamp?
    /// Default: ``ProblemChange/keep``.
    public var problem = ProblemChange.keep

    /// The change to ``ScheduleRecord/problem``.
    public enum ProblemChange: Hashable, Sendable {
        /// The stored problem stays.
        case keep
        /// The stored problem is replaced; nil removes it.
        case write(String?)
    }

    /// Creates a timing for a schedule as it was read.
    public init(_ record: ScheduleRecord, after: Timestamp, nextAt: Timestamp?) {
        name = record.schedule.name
        revision = record.revision
        updatedAt = record.updatedAt
        expected = record.nextAt
        self.after = after
        self.nextAt = nextAt
    }
}

/// The work that a schedule has planned for one time.
public enum ScheduledWork: Hashable, Sendable {
    /// The jobs to enqueue.
    case enqueue(NewGraph)
    /// Nothing can be enqueued for this reason, which is an explanation for people.
    case refused(String)
}

/// The firing of a schedule for one of its times.
public struct ScheduleFiring: Hashable, Sendable {
    /// The time to fire for, as ``ScheduleTiming/expected``, and the next time after it.
    public var timing: ScheduleTiming
    /// The work planned for that time.
    public var work: ScheduledWork

    /// Creates a firing.
    public init(_ timing: ScheduleTiming, _ work: ScheduledWork) {
        self.timing = timing
        self.work = work
    }
}

/// The outcome of one firing. In every case except `stale` the schedule has moved to its next time.
public enum FiringOutcome: Hashable, Sendable {
    /// The work was enqueued.
    case fired(EnqueueReceipt)
    /// Nothing was enqueued, because the work of the previous firing is not final and the schedule does not allow
    /// overlap.
    case skipped(lastJob: JobID, lastGraph: GraphID?)
    /// Nothing could be enqueued. The reason is stored with the schedule.
    case refused(String)
    /// The schedule has fired, changed, or been paused or removed since it was read. Nothing was written.
    case stale
}
