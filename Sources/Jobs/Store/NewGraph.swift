/// Jobs to accept together, whole or not at all, with every name already resolved.
public struct NewGraph: Sendable, Hashable {
    /// Nil for a lone job, which gets no graph.
    public var name: String?
    /// Whether the jobs form a graph with a number of its own; a lone job usually does not.
    public var isGraph: Bool
    /// At least one; a job may depend on any other here, in any order, without a cycle.
    public var jobs: [NewJob]
    public var key: IdempotencyKey?

    public init(name: String? = nil, isGraph: Bool, jobs: [NewJob], key: IdempotencyKey? = nil) {
        self.name = name
        self.isGraph = isGraph
        self.jobs = jobs
        self.key = key
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
    /// In declared order, which is the order of input binding.
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

/// The caller's own name for an enqueue, which makes repeating it harmless.
public struct IdempotencyKey: Sendable, Hashable {
    /// 1 to 255 bytes.
    public var name: String
    /// Of the request as it was made; the same key with another fingerprint is refused.
    public var fingerprint: Int64

    public init(name: String, fingerprint: Int64) {
        self.name = name
        self.fingerprint = fingerprint
    }
}

public struct EnqueueReceipt: Sendable, Hashable {
    public var graph: GraphID?
    /// In the order of ``NewGraph/jobs``.
    public var jobs: [JobID]
    /// Those of them that were skipped at once, since a dependency had already failed its condition; not told again of a
    /// duplicate.
    public var skipped: [JobID]

    public init(graph: GraphID?, jobs: [JobID], skipped: [JobID] = []) {
        self.graph = graph
        self.jobs = jobs
        self.skipped = skipped
    }
}

/// What became of one ``NewGraph``. A refusal leaves no trace, and does not touch the others of the same call.
public enum EnqueueOutcome: Sendable, Hashable {
    case enqueued(EnqueueReceipt)
    /// The key was used before for the same request; this is its receipt, and nothing was added.
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
