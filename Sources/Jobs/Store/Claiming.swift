/// What the runner asks for when it has room.
public struct ClaimRequest: Sendable, Hashable {
    /// How many jobs may be claimed.
    public var slots: Int
    /// The wait after which a ready job counts as one priority higher, and again after as much more.
    public var ageing: Duration

    public init(slots: Int, ageing: Duration = .seconds(300)) {
        self.slots = slots
        self.ageing = ageing
    }
}

/// A job that is now running under a lease.
public struct ClaimedJob: Sendable, Hashable {
    public var lease: Lease
    public var definition: DefinitionID
    public var graph: GraphID?
    public var input: JSONText?
    public var hasDependencies: Bool
    /// Tries used up before this attempt.
    public var tries: Int

    public init(
        lease: Lease, definition: DefinitionID, graph: GraphID?, input: JSONText?, hasDependencies: Bool, tries: Int
    ) {
        self.lease = lease
        self.definition = definition
        self.graph = graph
        self.input = input
        self.hasDependencies = hasDependencies
        self.tries = tries
    }
}

/// How an attempt ended, under its lease.
public struct AttemptEnd: Sendable, Hashable {
    public enum Ending: Sendable, Hashable {
        /// A queue that only children name is made.
        case succeeded(JSONText, children: [NewGraph] = [])
        /// Final.
        case failed(JobFailure, timedOut: Bool = false)
        /// Uses up a try. The job is scheduled again, or cancelled if that was requested meanwhile. The wait is real
        /// time, unaffected when the wall clock is set.
        case retry(JobFailure, timedOut: Bool = false, after: Duration)
        /// Final: the attempt stopped because cancellation was asked for.
        case cancelled
        /// The job is ready again and has used up no try, or is cancelled if that was asked for meanwhile.
        case interrupted
    }

    public var lease: Lease
    public var ending: Ending
    /// What ``ConnectionLog/json`` gave; kept with the attempt whatever its end. Nil when it made no connection.
    public var connections: JSONText?

    public init(lease: Lease, ending: Ending, connections: JSONText? = nil) {
        self.lease = lease
        self.ending = ending
        self.connections = connections
    }
}

public enum FinishResult: Sendable, Hashable {
    /// The job's state after the end of the attempt.
    case recorded(JobState)
    /// The attempt was no longer the current one. Nothing changed: drop the result.
    case leaseLost
}

/// The answer to one exchange between the runner and the store.
public struct Exchange: Sendable, Hashable {
    /// One for each end, in order.
    public var finished: [FinishResult]
    public var claimed: [ClaimedJob]
    /// When the next scheduled job is due; nil when none is scheduled.
    public var nextDueAt: Timestamp?

    public init(finished: [FinishResult], claimed: [ClaimedJob], nextDueAt: Timestamp?) {
        self.finished = finished
        self.claimed = claimed
        self.nextDueAt = nextDueAt
    }
}

/// What a rescue found at the start.
public struct RescueReport: Sendable, Hashable {
    /// Jobs that are ready again.
    public var returned: [JobID]
    /// Jobs failed with `crashed`: each was the only running job in too many crashes.
    public var failed: [JobID]
    /// Jobs cancelled because their cancellation had been requested.
    public var cancelled: [JobID]
    /// The jobs in `returned` that run apart from others at first (``CrashTrials``).
    public var onTrial: [JobID]

    public init(returned: [JobID], failed: [JobID], cancelled: [JobID], onTrial: [JobID] = []) {
        self.returned = returned
        self.failed = failed
        self.cancelled = cancelled
        self.onTrial = onTrial
    }
}

public enum CancelResult: Sendable, Hashable {
    /// It had not started and never will.
    case cancelled
    /// It runs; its attempt is told, and its end will follow.
    case requested
    case alreadyFinal(Outcome)
    case unknown
}

/// One change to one job, told after it is durable.
public struct JobChange: Sendable, Hashable {
    public var job: JobID
    public var graph: GraphID?
    public var state: JobState
    public var attempt: Int
    /// Cancellation was asked for while the job runs; its state did not change.
    public var isCancelRequest: Bool
    /// With `scheduled`: when it is due.
    public var dueAt: Timestamp?
    /// What else than an attempt brought it about; nil for claims and ends of attempts, and for what became ready.
    public var cause: Cause?
    /// Of a job that was just accepted: its explicit input.
    public var input: JSONText?

    public enum Cause: Sendable, Hashable {
        case accepted
        /// It was skipped because of this job.
        case dependency(JobID)
        /// It was cancelled and was not running.
        case cancelled
    }

    public init(
        job: JobID, graph: GraphID?, state: JobState, attempt: Int, isCancelRequest: Bool = false,
        dueAt: Timestamp? = nil, cause: Cause? = nil, input: JSONText? = nil
    ) {
        self.job = job
        self.graph = graph
        self.state = state
        self.attempt = attempt
        self.isCancelRequest = isCancelRequest
        self.dueAt = dueAt
        self.cause = cause
        self.input = input
    }
}

/// What an observer is told.
public enum StoreChange: Sendable, Hashable {
    case jobs([JobChange])
    /// A queue's limit, weight or pause.
    case queues
    case definitions
    /// A schedule was added, changed, paused, resumed or removed; not: fired.
    case schedules
    /// Writes fail with a temporary error, such as a full disk; nil when a write has succeeded again.
    case writing(StoreError?)
    /// The last one: nothing is written any more, and what the disk holds is unknown. A new start finds out.
    case stopped(StoreError)
}
