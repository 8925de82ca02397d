/// Jobs to accept together, completely or not at all, with all names already resolved.
public struct NewGraph: Sendable, Hashable {
    /// The graph's name; nil for a lone job, which gets no graph.
    public var name: String?
    /// Whether the jobs form a graph with a number of its own; a lone job usually does not.
    public var isGraph: Bool
    /// The jobs, at least one. They may depend on each other in any order, but without a cycle.
    public var jobs: [NewJob]
    public var key: IdempotencyKey?

    public init(name: String? = nil, isGraph: Bool, jobs: [NewJob], key: IdempotencyKey? = nil) {
        self.name = name
        self.isGraph = isGraph
        self.jobs = jobs
        self.key = key
    }

    /// How much there is to write: one for each job and edge, and one for each 2 KiB of input.
    public var weight: Int {
        jobs.reduce(0) { $0 + 1 + $1.dependencies.count + ($1.input?.bytes.count ?? 0) / 2048 }
    }
}

public struct NewJob: Sendable, Hashable {
    public var definition: DefinitionID
    public var node: String?
    public var input: JSONText?
    public var queue: String
    public var priority: Priority
    /// The earliest start; a wait counts from the enqueue.
    public var start: Submission.Start
    /// The dependencies in declared order, in which outputs are bound to the input.
    public var dependencies: [NewDependency]
    public var repeats: JobID?

    public init(
        definition: DefinitionID, node: String? = nil, input: JSONText? = nil,
        queue: String = QueueSettings.defaultName, priority: Priority = .normal, start: Submission.Start = .now,
        dependencies: [NewDependency] = [], repeats: JobID? = nil
    ) {
        self.definition = definition
        self.node = node
        self.input = input
        self.queue = queue
        self.priority = priority
        self.start = start
        self.dependencies = dependencies
        self.repeats = repeats
    }
}

public struct NewDependency: Sendable, Hashable {
    public enum Job: Sendable, Hashable {
        /// The job at this index of the same ``NewGraph``.
        case new(Int)
        case existing(JobID)
    }

    public var job: Job
    public var condition: DependencyCondition

    public init(on job: Job, condition: DependencyCondition = .succeeded) {
        self.job = job
        self.condition = condition
    }
}

/// The caller's name for an enqueue request, with which it can safely be repeated.
public struct IdempotencyKey: Sendable, Hashable {
    /// The key, 1 to 255 bytes.
    public var name: String
    /// The fingerprint of the request. The same key with another fingerprint is refused.
    public var fingerprint: Int64

    public init(name: String, fingerprint: Int64) {
        self.name = name
        self.fingerprint = fingerprint
    }
}

public struct EnqueueReceipt: Sendable, Hashable {
    public var graph: GraphID?
    /// The jobs in the order of ``NewGraph/jobs``.
    public var jobs: [JobID]
    /// The jobs that were skipped at once because a dependency had already failed its condition. Empty for a duplicate.
    public var skipped: [JobID]

    public init(graph: GraphID?, jobs: [JobID], skipped: [JobID] = []) {
        self.graph = graph
        self.jobs = jobs
        self.skipped = skipped
    }
}

/// The outcome of enqueueing one ``NewGraph``. A refusal changes nothing and does not affect other graphs of the same
/// call.
public enum EnqueueOutcome: Sendable, Hashable {
    case enqueued(EnqueueReceipt)
    /// The key was already used for the same request, which had this receipt. Nothing was added.
    case duplicate(EnqueueReceipt)
    case refused(EnqueueRefusal)
}

public enum EnqueueRefusal: Error, Sendable, Hashable {
    case keyUsedForAnotherRequest(key: String)
    case unknownDependency(JobID)
    case unknownQueue(String)
    case unknownDefinition(DefinitionID)
    /// `field` names the text that contains it, such as "the key".
    case hiddenCharacter(HiddenCharacter, field: String)
    /// The dependencies among the jobs form a cycle through this index.
    case cycle(through: Int)
}
