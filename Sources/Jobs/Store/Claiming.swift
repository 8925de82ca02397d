/// The runner's request for jobs when it has free slots.
public struct ClaimRequest: Sendable, Hashable {
    /// The number of jobs that may be claimed.
    public var slots: Int
    /// The wait after which a ready job counts as one priority higher. Each further wait of this length raises it by
    /// one more.
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
    /// The number of tries used up before this attempt.
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

/// The end of an attempt and its lease.
public struct AttemptEnd: Sendable, Hashable {
    public enum Ending: Sendable, Hashable {
        /// The job has succeeded. A queue that its children name is created if it does not exist.
        case succeeded(JSONText, children: [NewGraph] = [])
        /// The job has failed and does not run again.
        case failed(JobFailure, timedOut: Bool = false)
        /// Uses up a try. The job is scheduled again, or cancelled if that was requested meanwhile. The wait is real
        /// time, unaffected when the wall clock is set.
        case retry(JobFailure, timedOut: Bool = false, after: Duration)
        /// The attempt stopped because its job's cancellation was requested.
        case cancelled
        /// The job is ready again without using up a try, or cancelled if that was requested.
        case interrupted

        public var children: [NewGraph] {
            if case .succeeded(_, let children) = self { children } else { [] }
        }
    }

    public var lease: Lease
    public var ending: Ending
    /// The attempt's ``ConnectionLog/json``, stored for every ending; nil if it made no connection.
    public var connections: JSONText?
    /// The answer of ``JobStore/prepare(_:)`` for the ending's children.
    public var prepared: PreparedChildren?

    public init(
        lease: Lease, ending: Ending, connections: JSONText? = nil, prepared: PreparedChildren? = nil
    ) {
        self.lease = lease
        self.ending = ending
        self.connections = connections
        self.prepared = prepared
    }
}

public enum FinishResult: Sendable, Hashable {
    /// The job's state after the end of the attempt.
    case recorded(JobState)
    /// The attempt was no longer the current one. Nothing changed; drop its result.
    case leaseLost
}

/// The answer to one exchange between the runner and the store.
public struct Exchange: Sendable, Hashable {
    /// The results, one for each end, in order.
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

/// The result of a rescue at the start.
public struct RescueReport: Sendable, Hashable {
    /// Jobs that are ready again.
    public var returned: [JobID]
    /// Jobs failed with `crashed`: each was the only running job in too many crashes.
    public var failed: [JobID]
    /// Jobs cancelled because their cancellation had been requested.
    public var cancelled: [JobID]
    /// The jobs in `returned` that first run apart from other jobs (``CrashTrials``).
    public var onTrial: [JobID]

    public init(returned: [JobID], failed: [JobID], cancelled: [JobID], onTrial: [JobID] = []) {
        self.returned = returned
        self.failed = failed
        self.cancelled = cancelled
        self.onTrial = onTrial
    }
}

public enum CancelResult: Sendable, Hashable {
    /// The job had not started and never will.
    case cancelled
    /// The job is running. Its attempt is told to stop and will end.
    case requested
    case alreadyFinal(Outcome)
    case unknown
}

/// A durable change of one job.
public struct JobChange: Sendable, Hashable {
    public var job: JobID
    public var graph: GraphID?
    public var state: JobState
    public var attempt: Int
    /// Whether the change is a request to cancel a running job. The job's state did not change.
    public var isCancelRequest: Bool
    /// When the job is due, if its state is `scheduled`.
    public var dueAt: Timestamp?
    /// The cause of the change. It is nil for claims, for ends of attempts and for jobs that became ready.
    public var cause: Cause?
    /// The explicit input of a job that was just accepted.
    public var input: JSONText?

    public enum Cause: Sendable, Hashable {
        case accepted
        /// The job was skipped because of this dependency.
        case dependency(JobID)
        /// The job was cancelled before it ran.
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

/// A change that the store reports to observers.
public enum StoreChange: Sendable, Hashable {
    /// Jobs of very large requests that are accepted, before they are written and reported as ``jobs(_:)``.
    case accepted([UnwrittenJob])
    case jobs([JobChange])
    /// A queue's limit, weight or pause changed.
    case queues
    case definitions
    /// A schedule was added, changed, paused, resumed or removed. Firings are not reported.
    case schedules
    /// Writes fail with a temporary error, such as a full disk; nil when a write has succeeded again.
    case writing(StoreError?)
    /// The accepted requests that the store cannot carry out completely at the moment; empty when there are none. It
    /// tries each again, less and less often, and other requests are not affected.
    case stuck([StuckRequest])
    /// The store has stopped. This is the last change: the store writes nothing more, and what the disk contains is
    /// unknown until the next start.
    case stopped(StoreError)
}

/// A job that was accepted and has an input, but no record yet.
public struct UnwrittenJob: Sendable, Hashable {
    public var job: JobID
    public var input: JSONText

    public init(job: JobID, input: JSONText) {
        self.job = job
        self.input = input
    }
}

/// One page of accepted jobs that are not written yet.
public struct UnwrittenPage: Sendable, Hashable {
    public var jobs: [UnwrittenJob]
    /// Where the next page begins; nil after the last.
    public var next: Position?

    /// A position that only the store understands.
    public struct Position: Sendable, Hashable {
        public var request: Int64
        public var part: Int64

        public init(request: Int64, part: Int64) {
            self.request = request
            self.part = part
        }
    }

    public init(jobs: [UnwrittenJob], next: Position?) {
        self.jobs = jobs
        self.next = next
    }
}

/// Children of an attempt that a store keeps ahead of the attempt's end. Equal only to itself.
public final class PreparedChildren: Sendable, Hashable {
    /// For the store that made it.
    public let contents: any Sendable

    public init(_ contents: any Sendable) { self.contents = contents }

    public static func == (a: PreparedChildren, b: PreparedChildren) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// An accepted request of very many rows whose rest fails again and again for the same reason.
public struct StuckRequest: Sendable, Hashable {
    /// The unfinished work, such as `graph 7: some of its jobs cannot be cancelled`.
    public var subject: String
    public var reason: StoreError

    public init(subject: String, reason: StoreError) {
        self.subject = subject
        self.reason = reason
    }
}
