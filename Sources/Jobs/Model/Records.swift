import OperationTypes

/// A job as it stands, for people and programs.
public struct JobRecord: Hashable, Sendable {
    public var id: JobID
    public var graph: GraphID?
    /// The job's name within its graph.
    public var node: String?
    public var definition: String
    public var definitionRevision: Int
    public var kind: String
    public var queue: String
    public var priority: Priority
    public var state: JobState
    /// The explicit input; the definition's defaults are not in it.
    public var input: JSONText?
    /// The number of the current or last attempt; 0 before the first.
    public var attempt: Int
    /// Tries used up, of ``maxAttempts``. Interrupted and rescued attempts use up none.
    public var tries: Int
    public var maxAttempts: Int
    public var rescues: Int
    /// Dependencies that have not come to their condition.
    public var pendingDependencies: Int
    public var enqueuedAt: Timestamp
    /// The moment from which it may run; for a ready job, since when it has been ready.
    public var dueAt: Timestamp?
    /// The start of the current or last attempt.
    public var startedAt: Timestamp?
    public var finishedAt: Timestamp?
    public var cancelRequestedAt: Timestamp?
    /// The finished job that this one runs again.
    public var repeats: JobID?

    public init(
        id: JobID, graph: GraphID?, node: String?, definition: String, definitionRevision: Int, kind: String,
        queue: String,
        priority: Priority, state: JobState, input: JSONText?, attempt: Int, tries: Int, maxAttempts: Int, rescues: Int,
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
        self.maxAttempts = maxAttempts
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
    public enum Value: Hashable, Sendable {
        case succeeded(JSONText)
        /// `outcome` is not `succeeded`.
        case ended(Outcome, JobFailure)
    }

    public var job: JobID
    /// The attempt that gave it; 0 when the job ended without one.
    public var attempt: Int
    public var value: Value
    public var finishedAt: Timestamp

    public init(job: JobID, attempt: Int, value: Value, finishedAt: Timestamp) {
        self.job = job
        self.attempt = attempt
        self.value = value
        self.finishedAt = finishedAt
    }

    public var outcome: Outcome {
        switch value {
        case .succeeded: .succeeded
        case .ended(let outcome, _): outcome
        }
    }
}

/// One attempt that ended.
public struct AttemptRecord: Hashable, Sendable {
    public var lease: Lease
    public var outcome: AttemptOutcome
    public var startedAt: Timestamp
    public var endedAt: Timestamp
    public var failure: JobFailure?
    /// When the next try is due, if one was granted.
    public var retryAt: Timestamp?
    /// A JSON array of ``ConnectionRecord``; nil when it made no connection, or crashed.
    public var connections: JSONText?

    /// A job may have many attempts, and each many connections: they are read of so many of the last ones.
    public static let maxWithConnections = 8

    public init(
        lease: Lease, outcome: AttemptOutcome, startedAt: Timestamp, endedAt: Timestamp, failure: JobFailure?,
        retryAt: Timestamp?, connections: JSONText? = nil
    ) {
        self.lease = lease
        self.outcome = outcome
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.failure = failure
        self.retryAt = retryAt
        self.connections = connections
    }
}

/// One edge of a job to another.
public struct DependencyRecord: Hashable, Sendable {
    public var dependent: JobID
    public var dependency: JobID
    public var condition: DependencyCondition

    public init(dependent: JobID, dependency: JobID, condition: DependencyCondition) {
        self.dependent = dependent
        self.dependency = dependency
        self.condition = condition
    }
}

/// What a dependency gave, for binding a dependent's input.
public struct DependencyOutput: Hashable, Sendable {
    public var dependency: JobID
    public var kind: String
    /// Nil unless the dependency succeeded.
    public var output: JSONText?

    public init(dependency: JobID, kind: String, output: JSONText?) {
        self.dependency = dependency
        self.kind = kind
        self.output = output
    }
}

/// What all dependencies gave.
public enum DependencyOutputs: Hashable, Sendable {
    case found([DependencyOutput])
    /// Together they are larger than was asked for.
    case tooLarge
}

public struct GraphRecord: Hashable, Sendable {
    public var id: GraphID
    /// The graph definition it was made from, or the name it was given.
    public var name: String?
    public var enqueuedAt: Timestamp
    /// When its last job became final; nil while one is not.
    public var finishedAt: Timestamp?
    public var counts: StateCounts

    public init(id: GraphID, name: String?, enqueuedAt: Timestamp, finishedAt: Timestamp?, counts: StateCounts) {
        self.id = id
        self.name = name
        self.enqueuedAt = enqueuedAt
        self.finishedAt = finishedAt
        self.counts = counts
    }
}

/// How many jobs are in each state.
public struct StateCounts: Hashable, Sendable {
    private var counts: [Int64]

    public init() { counts = Array(repeating: 0, count: JobState.allCases.count) }

    public subscript(state: JobState) -> Int64 {
        get { counts[state.rawValue] }
        set { counts[state.rawValue] = newValue }
    }

    public var total: Int64 { counts.reduce(0, +) }
    /// Jobs that are not final.
    public var open: Int64 { self[.blocked] + self[.scheduled] + self[.ready] + self[.running] }

    public static func + (a: StateCounts, b: StateCounts) -> StateCounts {
        var sum = a
        for state in JobState.allCases { sum[state] += b[state] }
        return sum
    }
}

/// A queue's settings: how many of its jobs may run at once, and its share when more queues want to run than there are
/// slots.
public struct QueueSettings: Hashable, Sendable {
    public var name: String
    /// 1 to ``maxLimit``.
    public var limit: Int
    /// 1 to ``maxWeight``; a queue of weight 3 gets three slots for each one of a queue of weight 1.
    public var weight: Int

    public init(name: String, limit: Int = QueueSettings.defaultLimit, weight: Int = 1) {
        self.name = name
        self.limit = limit
        self.weight = weight
    }

    public static let defaultLimit = 16
    public static let maxLimit = 10_000
    public static let maxWeight = 1000
    /// How many queues there may be, without those that were removed: every claim looks at each.
    public static let maxCount = 1000
    /// The queue that every database has.
    public static let defaultName = "default"
}

public struct QueueRecord: Hashable, Sendable {
    public var settings: QueueSettings
    public var pausedAt: Timestamp?
    public var counts: StateCounts

    public init(settings: QueueSettings, pausedAt: Timestamp?, counts: StateCounts) {
        self.settings = settings
        self.pausedAt = pausedAt
        self.counts = counts
    }
}
