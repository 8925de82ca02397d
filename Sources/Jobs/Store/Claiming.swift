/// The runner's request for jobs when it has free slots.
public struct ClaimRequest: Sendable, Hashable {
    /// The maximum number of jobs to claim.
    public var slots: Int
    /// The wait after which a ready job counts as one priority higher. Each further wait of this length raises it by
    /// one more.
    public var ageing: Duration
    /// The maximum number of jobs to claim of each kind, by the kind's name; 0 for none. Only ``slots`` limits the kinds
    /// that are missing here. Suspects do not count (``ClaimedJob/isSuspect``). Jobs without room wait, and do not keep
    /// the jobs behind them from starting.
    public var room: [String: Int]
    /// The maximum number of suspects to claim, of all kinds together and whatever the room of their kinds; nil for no
    /// limit.
    public var suspects: Int?
    /// The maximum number of suspects to claim of each kind, by the kind's name. Only ``suspects`` limits the kinds that
    /// are missing here.
    public var suspectRoom: [String: Int]
    /// The kinds to claim, by name; nil for all. Jobs of other kinds wait for a holder that runs them.
    public var kinds: Set<String>?
    /// The queues to claim from, by name; nil for all.
    public var queues: Set<String>?

    /// Creates a request. Default ageing: five minutes.
    public init(
        slots: Int, ageing: Duration = .seconds(300), room: [String: Int] = [:], suspects: Int? = nil,
        suspectRoom: [String: Int] = [:], kinds: Set<String>? = nil, queues: Set<String>? = nil
    ) {
        self.slots = slots
        self.ageing = ageing
        self.room = room
        self.suspects = suspects
        self.suspectRoom = suspectRoom
        self.kinds = kinds
        self.queues = queues
    }
}

/// A job that is now running under a lease.
public struct ClaimedJob: Sendable, Hashable {
    /// The job and the number of the attempt that begins.
    public var lease: Lease
    /// The revision of the definition to run.
    public var definition: DefinitionID
    /// The job's graph; nil if it was enqueued on its own.
    public var graph: GraphID?
    /// The explicit input, without the definition's defaults.
    public var input: JSONText?
    /// Whether the job has dependencies, whose outputs may be part of its input.
    public var hasDependencies: Bool
    /// The number of tries used up before this attempt.
    public var tries: Int
    /// The last checkpoint of an earlier attempt; nil if there is none.
    public var checkpoint: JSONText?
    /// Whether the job may have crashed a process: it was running when a process ended, and no attempt of it has ended in
    /// another way since. Interruptions do not count.
    public var isSuspect: Bool

    /// Creates a claimed job from its stored values.
    public init(
        lease: Lease, definition: DefinitionID, graph: GraphID?, input: JSONText?, hasDependencies: Bool, tries: Int,
        checkpoint: JSONText? = nil, isSuspect: Bool = false
    ) {
        self.lease = lease
        self.definition = definition
        self.graph = graph
        self.input = input
        self.hasDependencies = hasDependencies
        self.tries = tries
        self.checkpoint = checkpoint
        self.isSuspect = isSuspect
    }
}

/// The end of an attempt, which releases its lease.
public struct AttemptEnd: Sendable, Hashable {
    /// The ways in which an attempt can end.
    public enum Ending: Sendable, Hashable {
        /// The job has succeeded with this output. If a child names a queue that does not exist, the queue is created.
        case succeeded(JSONText, children: [NewGraph] = [])
        /// The job has failed and does not run again.
        case failed(JobFailure, timedOut: Bool = false)
        /// The attempt uses up a try. The job is scheduled again, or cancelled if its cancellation was requested. The
        /// wait is measured in real time, even if the wall clock is set.
        case retry(JobFailure, timedOut: Bool = false, after: Duration)
        /// The attempt stopped because its job's cancellation was requested.
        case cancelled
        /// The job is ready again and no try is used up. If its cancellation was requested, it is cancelled instead.
        case interrupted
        /// The process that ran the attempt ended. The job is ready again and no try is used up; if its cancellation was
        /// requested, it is cancelled instead. A job that was alone in more than `maxCrashes` crashes fails with
        /// ``JobFailure/Code/crashed``; an unexplained crash counts as a tenth of one
        /// (``LastEnd/unexplainedPerCrash``).
        case crashed(Crash, maxCrashes: Int)

        /// The jobs to enqueue together with a success; empty for every other ending.
        public var children: [NewGraph] {
            if case .succeeded(_, let children) = self { children } else { [] }
        }
    }

    /// The lease of the attempt.
    public var lease: Lease
    /// How the attempt ended.
    public var ending: Ending
    /// The attempt's ``ConnectionLog/json``, stored for every ending; nil if the attempt made no connection.
    public var connections: JSONText?
    /// The resources that the attempt's processes used, stored for every ending; nil if nothing was measured.
    public var usage: AttemptUsage?
    /// The return value of ``JobStore/prepare(_:)`` for the ending's children; nil if it was not called.
    public var prepared: PreparedChildren?

    /// Creates an end to pass to ``JobStore/exchange(_:claim:by:now:)``.
    public init(
        lease: Lease, ending: Ending, connections: JSONText? = nil, usage: AttemptUsage? = nil,
        prepared: PreparedChildren? = nil
    ) {
        self.lease = lease
        self.ending = ending
        self.connections = connections
        self.usage = usage
        self.prepared = prepared
    }
}

/// The result of recording the end of an attempt.
public enum FinishResult: Sendable, Hashable {
    /// The end was recorded; this is the job's new state.
    case recorded(JobState)
    /// The attempt was no longer the current one. Nothing changed; discard its result.
    case leaseLost
}

/// The store's answer to one exchange with the runner.
public struct Exchange: Sendable, Hashable {
    /// The results, one for each recorded end, in the same order.
    public var finished: [FinishResult]
    /// The jobs that were claimed; their attempts are running.
    public var claimed: [ClaimedJob]
    /// When to claim again, even if no change is reported: when the next scheduled job is due, or now if the claim has
    /// not reached all ready jobs. Nil if no job is scheduled.
    public var nextDueAt: Timestamp?
    /// Whether the holder's life lasts. If not, nothing was claimed.
    public var isAlive: Bool
    /// When the holder was drained; nil if it is not. A drained holder claims nothing.
    public var drainedAt: Timestamp?

    /// Creates an answer.
    public init(
        finished: [FinishResult], claimed: [ClaimedJob], nextDueAt: Timestamp?, isAlive: Bool = true,
        drainedAt: Timestamp? = nil
    ) {
        self.finished = finished
        self.claimed = claimed
        self.nextDueAt = nextDueAt
        self.isAlive = isAlive
        self.drainedAt = drainedAt
    }
}

/// The result of rescuing orphans before the first claim.
public struct RescueReport: Sendable, Hashable {
    /// Jobs that are ready again.
    public var returned: [JobID]
    /// Jobs that failed with `crashed`, because each was the only running job in too many crashes.
    public var failed: [JobID]
    /// Jobs that were cancelled because their cancellation had been requested.
    public var cancelled: [JobID]
    /// The jobs in `returned` that run apart from other jobs at first (``CrashTrials``).
    public var onTrial: [JobID]

    /// Creates a report.
    public init(returned: [JobID], failed: [JobID], cancelled: [JobID], onTrial: [JobID] = []) {
        self.returned = returned
        self.failed = failed
        self.cancelled = cancelled
        self.onTrial = onTrial
    }
}

/// The result of a request to cancel one job.
public enum CancelResult: Sendable, Hashable {
    /// The job had not started, and now never will.
    case cancelled
    /// The job is running. Its attempt is asked to stop, and the job is final once the attempt has ended.
    case requested
    /// The job had already ended, with this outcome. Nothing changed.
    case alreadyFinal(Outcome)
    /// There is no such job.
    case unknown
}

/// A durable change to one job.
public struct JobChange: Sendable, Hashable {
    /// The job that changed.
    public var job: JobID
    /// The job's graph; nil if it has none.
    public var graph: GraphID?
    /// The job's state after the change.
    public var state: JobState
    /// The number of the current or last attempt; 0 before the first one.
    public var attempt: Int
    /// Whether the change is a request to cancel a running job, which leaves its state unchanged.
    public var isCancelRequest: Bool
    /// When the job is due, if its new state is `scheduled`.
    public var dueAt: Timestamp?
    /// The cause of the change; nil for claims, for ends of attempts, and for jobs that became ready.
    public var cause: Cause?
    /// The explicit input, if the job was just accepted.
    public var input: JSONText?

    /// The cause of a change that does not come from an attempt.
    public enum Cause: Sendable, Hashable {
        /// The job was just accepted.
        case accepted
        /// The job was skipped because of this dependency.
        case dependency(JobID)
        /// The job was cancelled before it ran.
        case cancelled
    }

    /// Creates a change.
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

/// A change that the store reports to its observers.
public enum StoreChange: Sendable, Hashable {
    /// Jobs of very large requests that were accepted but are not written yet. Each is reported again as ``jobs(_:)``
    /// when it is written.
    case accepted([UnwrittenJob])
    /// Changes to jobs, in the order in which they happened.
    case jobs([JobChange])
    /// A queue's limit, weight or pause changed.
    case queues
    /// Definitions, graph definitions or descriptions of kinds changed.
    case definitions
    /// A schedule was added, changed, paused, resumed or removed. Firings are not reported.
    case schedules
    /// A holder's life began or ended, or its jobs were rescued. Another holder may have left orphans
    /// (``JobStore/rescue(_:by:now:)``).
    case holders
    /// A program has enqueued jobs in the database by itself. The jobs are not named: look for work.
    case work
    /// Changes of other holders may have been missed, such as while the connection to the server was broken. Anything may
    /// have changed: look again.
    case missed
    /// ``JobStore/condition`` has changed.
    case condition
    /// The store has stopped, and this is its last change. It writes nothing more, and only the next start can
    /// determine the contents of the disk.
    case stopped(StoreError)
}

/// An accepted job with an input that has no record in the store yet.
public struct UnwrittenJob: Sendable, Hashable {
    /// The job's number.
    public var job: JobID
    /// The job's explicit input.
    public var input: JSONText

    /// Creates an unwritten job.
    public init(job: JobID, input: JSONText) {
        self.job = job
        self.input = input
    }
}

/// One page of accepted jobs that have not been written yet.
public struct UnwrittenPage: Sendable, Hashable {
    /// The jobs. A page may be empty although more pages follow.
    public var jobs: [UnwrittenJob]
    /// The position at which the next page begins; nil after the last page.
    public var next: Position?

    /// A position in the list of pages; only the store can interpret it.
    public struct Position: Sendable, Hashable {
        /// The number of the request.
        public var request: Int64
        /// The number of the part within the request.
        public var part: Int64

        /// Creates a position. This initializer is for stores.
        public init(request: Int64, part: Int64) {
            self.request = request
            self.part = part
        }
    }

    /// Creates a page.
    public init(jobs: [UnwrittenJob], next: Position?) {
        self.jobs = jobs
        self.next = next
    }
}

/// The children of an attempt, as the store has saved them before the attempt's end. A value is equal only to itself.
public final class PreparedChildren: Sendable, Hashable {
    /// Data for the store that created the value; its type is private to the store.
    public let contents: any Sendable

    /// Wraps the store's data.
    public init(_ contents: any Sendable) { self.contents = contents }

    public static func == (a: PreparedChildren, b: PreparedChildren) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The condition of a store at one moment: its errors and its unfinished work.
public struct StoreCondition: Sendable, Hashable {
    /// The temporary error with which writes fail, such as a full disk. Nil once a write has succeeded again.
    public var problem: StoreError?
    /// The accepted requests that the store cannot complete at the moment. The store retries each at increasing
    /// intervals, and other requests are not affected.
    public var stuck: [StuckRequest] = []
    /// Whether the store is still writing the rest of accepted requests that affect very many rows. False if all of
    /// them are stuck.
    public var isWorking = false

    public init() {}
}

/// An accepted request that affects very many rows. Writing the rest of them fails repeatedly for the same reason.
public struct StuckRequest: Sendable, Hashable {
    /// The unfinished work, such as `graph 7: some of its jobs cannot be cancelled`.
    public var subject: String
    /// The error of the last try.
    public var reason: StoreError

    /// Creates a stuck request.
    public init(subject: String, reason: StoreError) {
        self.subject = subject
        self.reason = reason
    }
}
