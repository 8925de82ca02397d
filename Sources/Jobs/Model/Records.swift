import OperationTypes

/// A job with its current state, for display and for programs.
public struct JobRecord: Hashable, Sendable {
    public var id: JobID
    /// The job's graph; nil if it was enqueued on its own.
    public var graph: GraphID?
    /// The job's name within its graph; nil if it has none.
    public var node: String?
    /// The name of the definition that the job runs.
    public var definition: String
    /// The revision of the definition that the job was enqueued with; later revisions do not affect it.
    public var definitionRevision: Int
    /// The name of the definition's kind.
    public var kind: String
    /// The name of the queue that the job runs in.
    public var queue: String
    /// The priority before ageing.
    public var priority: Priority
    /// The state when the record was read.
    public var state: JobState
    /// The explicit input, without the definition's defaults. Also nil in a listing that leaves out inputs.
    public var input: JSONText?
    /// The number of the current or last attempt; 0 before the first one.
    public var attempt: Int
    /// The number of tries used up, out of ``maxTries``. Interrupted and rescued attempts use up none.
    public var tries: Int
    /// The number of tries that the definition's retry policy allows.
    public var maxTries: Int
    /// How often the job was returned to its queue because the process that ran an attempt had died.
    public var rescues: Int
    /// The number of dependencies that have not met their condition yet.
    public var pendingDependencies: Int
    /// When the job was accepted.
    public var enqueuedAt: Timestamp
    /// The moment from which the job may run. For a ready job, the moment since which it has been ready.
    public var dueAt: Timestamp?
    /// The start of the current or last attempt; nil before the first one.
    public var startedAt: Timestamp?
    /// When the job reached its final state; nil before.
    public var finishedAt: Timestamp?
    /// When cancellation was requested; nil if it was not.
    public var cancelRequestedAt: Timestamp?
    /// The finished job that this job runs again; nil if it repeats none.
    public var repeats: JobID?

    /// Creates a record from its stored values.
    public init(
        id: JobID, graph: GraphID?, node: String?, definition: String, definitionRevision: Int, kind: String,
        queue: String,
        priority: Priority, state: JobState, input: JSONText?, attempt: Int, tries: Int, maxTries: Int, rescues: Int,
        pendingDependencies: Int, enqueuedAt: Timestamp, dueAt: Timestamp?, startedAt: Timestamp?,
        finishedAt: Timestamp?,
        cancelRequestedAt: Timestamp?, repeats: JobID?
    ) {
        self.id = id
        self.graph = graph
        self.node = node
        self.definition = definition
        self.definitionRevision = definitionRevision
        self.kind = kind
        self.queue = queue
        self.priority = priority
        self.state = state
        self.input = input
        self.attempt = attempt
        self.tries = tries
        self.maxTries = maxTries
        self.rescues = rescues
        self.pendingDependencies = pendingDependencies
        self.enqueuedAt = enqueuedAt
        self.dueAt = dueAt
        self.startedAt = startedAt
        self.finishedAt = finishedAt
        self.cancelRequestedAt = cancelRequestedAt
        self.repeats = repeats
    }
}

/// The final result of a job.
public struct JobResult: Hashable, Sendable {
    /// The two forms of a result: an output, or the reason why there is none.
    public enum Value: Hashable, Sendable {
        /// The output of the job.
        case succeeded(JSONText)
        /// The job ended with another outcome than `succeeded`, for this reason.
        case ended(Outcome, JobFailure)
    }

    /// The job with this result.
    public var job: JobID
    /// The attempt that produced the result; 0 if the job ended without an attempt.
    public var attempt: Int
    /// The output or the failure.
    public var value: Value
    /// When the job reached its final state.
    public var finishedAt: Timestamp

    /// Creates a result from its stored values.
    public init(job: JobID, attempt: Int, value: Value, finishedAt: Timestamp) {
        self.job = job
        self.attempt = attempt
        self.value = value
        self.finishedAt = finishedAt
    }

    /// The outcome that the value implies.
    public var outcome: Outcome {
        switch value {
        case .succeeded: .succeeded
        case .ended(let outcome, _): outcome
        }
    }
}

/// An attempt that has ended.
public struct AttemptRecord: Hashable, Sendable {
    /// The job and the number of the attempt.
    public var lease: Lease
    /// How the attempt ended.
    public var outcome: AttemptOutcome
    /// When the attempt was claimed.
    public var startedAt: Timestamp
    /// When the end of the attempt was recorded.
    public var endedAt: Timestamp
    /// Why the attempt did not succeed; nil if it did.
    public var error: JobFailure?
    /// When the next try was due, if one was granted.
    public var retryAt: Timestamp?
    /// The connections of the attempt, a JSON array of ``ConnectionRecord``. Nil if the attempt made none or crashed.
    public var connections: JSONText?
    /// The resources that the attempt's processes used; nil if nothing was measured.
    public var usage: AttemptUsage?

    /// How many of a job's last attempts are returned with their connections. A job may have many attempts with many
    /// connections each, so earlier attempts are returned without them.
    public static let maxWithConnections = 8

    /// Creates a record from its stored values.
    public init(
        lease: Lease, outcome: AttemptOutcome, startedAt: Timestamp, endedAt: Timestamp, error: JobFailure?,
        retryAt: Timestamp?, connections: JSONText? = nil, usage: AttemptUsage? = nil
    ) {
        self.lease = lease
        self.outcome = outcome
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.error = error
        self.retryAt = retryAt
        self.connections = connections
        self.usage = usage
    }
}

/// An edge between two jobs.
public struct DependencyRecord: Hashable, Sendable {
    /// The job that waits.
    public var dependent: JobID
    /// The job that is waited for.
    public var dependency: JobID
    /// The condition that the dependency must meet.
    public var condition: DependencyCondition

    /// Creates an edge from its stored values.
    public init(dependent: JobID, dependency: JobID, condition: DependencyCondition) {
        self.dependent = dependent
        self.dependency = dependency
        self.condition = condition
    }
}

/// The output of one dependency, which may become part of a dependent's input.
public struct DependencyOutput: Hashable, Sendable {
    /// The job that produced the output.
    public var dependency: JobID
    /// The attempt that produced the output.
    public var attempt: Int
    /// The job's name in its graph definition; nil if it has none.
    public var node: String?
    /// The name of that job's kind.
    public var kind: String
    /// The output; nil unless the dependency succeeded.
    public var output: JSONText?

    /// Creates an output from its stored values.
    public init(dependency: JobID, attempt: Int = 1, node: String? = nil, kind: String, output: JSONText?) {
        self.dependency = dependency
        self.attempt = attempt
        self.node = node
        self.kind = kind
        self.output = output
    }
}

/// The outputs of a job's dependencies, or the reason why they are not returned.
public enum DependencyOutputs: Hashable, Sendable {
    /// The outputs, in declared order of the dependencies.
    case found([DependencyOutput])
    /// The outputs together exceed the size limit of the request.
    case tooLarge
}

/// A graph with the number of its jobs in each state.
public struct GraphRecord: Hashable, Sendable {
    public var id: GraphID
    /// The name of the graph definition it was created from, or the name given by the caller; nil if there is neither.
    public var name: String?
    /// When the graph was accepted.
    public var enqueuedAt: Timestamp
    /// When the last of its jobs reached a final state; nil while one has not.
    public var finishedAt: Timestamp?
    /// The number of the graph's jobs in each state.
    public var counts: StateCounts

    /// Creates a record from its stored values.
    public init(id: GraphID, name: String?, enqueuedAt: Timestamp, finishedAt: Timestamp?, counts: StateCounts) {
        self.id = id
        self.name = name
        self.enqueuedAt = enqueuedAt
        self.finishedAt = finishedAt
        self.counts = counts
    }
}

/// The number of jobs in each state.
public struct StateCounts: Hashable, Sendable {
    private var counts: [Int64]

    /// Creates counts that are all zero.
    public init() { counts = Array(repeating: 0, count: JobState.allCases.count) }

    /// The number of jobs in this state.
    public subscript(state: JobState) -> Int64 {
        get { counts[state.rawValue] }
        set { counts[state.rawValue] = newValue }
    }

    /// The number of jobs in all states.
    public var total: Int64 { counts.reduce(0, +) }
    /// The number of jobs that are not final.
    public var open: Int64 { self[.blocked] + self[.scheduled] + self[.ready] + self[.running] }

    /// Adds the counts state by state.
    public static func + (a: StateCounts, b: StateCounts) -> StateCounts {
        var sum = a
        for state in JobState.allCases { sum[state] += b[state] }
        return sum
    }
}

/// A queue's settings: the number of its jobs that may run at once, and its share of the slots when queues compete for
/// them.
public struct QueueSettings: Hashable, Sendable {
    /// The queue's name, in the form that definitions use: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes.
    public var name: String
    /// The number of the queue's jobs that may run at once on all daemons together, 1 to ``maxLimit``.
    public var limit: Int
    /// The number of the queue's jobs that may run at once on one daemon, 1 to ``maxLimit``; nil if only ``limit``
    /// applies. It may exceed ``limit``, and has no effect then.
    public var limitPerDaemon: Int?
    /// The queue's share, 1 to ``maxWeight``. A queue of weight 3 gets three slots for each slot of a queue of weight
    /// 1.
    public var weight: Int

    /// Creates settings; the numbers are not checked.
    public init(
        name: String, limit: Int = QueueSettings.defaultLimit, limitPerDaemon: Int? = nil, weight: Int = 1
    ) {
        self.name = name
        self.limit = limit
        self.limitPerDaemon = limitPerDaemon
        self.weight = weight
    }

    /// The number of the queue's jobs that one daemon may run at once: the smaller of the two limits.
    public var mostPerDaemon: Int { min(limit, limitPerDaemon ?? limit) }

    /// Applies the limits and the weight of a change.
    public mutating func apply(_ change: QueueChange) {
        limit = change.limit ?? limit
        weight = change.weight ?? weight
        if let perDaemon = change.limitPerDaemon { limitPerDaemon = perDaemon.number }
    }

    /// The limit of a queue that sets none.
    public static let defaultLimit = 16
    /// The largest ``limit``.
    public static let maxLimit = 10_000
    /// The largest ``weight``.
    public static let maxWeight = 1000
    /// The maximum number of queues, not counting removed ones. It is limited because every claim visits every queue.
    public static let maxCount = 1000
    /// The name of the queue that every database has.
    public static let defaultName = "default"
}

/// A queue with its settings and the number of its jobs in each state.
public struct QueueRecord: Hashable, Sendable {
    /// The queue's name, limits and weight.
    public var settings: QueueSettings
    /// When the queue was paused; nil while it is not paused.
    public var pausedAt: Timestamp?
    /// The number of the queue's jobs in each state.
    public var counts: StateCounts

    /// Creates a record from its stored values.
    public init(settings: QueueSettings, pausedAt: Timestamp?, counts: StateCounts) {
        self.settings = settings
        self.pausedAt = pausedAt
        self.counts = counts
    }
}
