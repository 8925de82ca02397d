/// Jobs that the store accepts together, either all or none, with all names already resolved.
public struct NewGraph: Sendable, Hashable {
    /// The graph's name; nil if it has none, as with a lone job.
    public var name: String?
    /// Whether the jobs form a graph with its own number. A lone job usually does not.
    public var isGraph: Bool
    /// The jobs, at least one. They may depend on each other in any order, but must not form a cycle.
    public var jobs: [NewJob]
    /// The key that makes repeating the request harmless; nil if it has none.
    public var key: IdempotencyKey?

    /// Creates a graph; the store checks it when it is enqueued.
    public init(name: String? = nil, isGraph: Bool, jobs: [NewJob], key: IdempotencyKey? = nil) {
        self.name = name
        self.isGraph = isGraph
        self.jobs = jobs
        self.key = key
    }

    /// The amount of data to write: 1 for each job, 1 for each edge, and 1 for each 2 KiB of input.
    public var weight: Int {
        jobs.reduce(0) { $0 + 1 + $1.dependencies.count + ($1.input?.bytes.count ?? 0) / 2048 }
    }
}

/// A job of a ``NewGraph``, with its names resolved.
public struct NewJob: Sendable, Hashable {
    /// The revision of the definition that the job will run.
    public var definition: DefinitionID
    /// The job's name within its graph; nil if it has none.
    public var node: String?
    /// The explicit input, without the definition's defaults.
    public var input: JSONText?
    /// The name of the queue. The store refuses the graph if there is no such queue.
    public var queue: String
    /// The priority before ageing.
    public var priority: Priority
    /// The earliest start. A wait is measured from the moment at which the job is accepted.
    public var start: Submission.Start
    /// The dependencies, in declared order, which is also the order in which their outputs are bound to the input.
    public var dependencies: [NewDependency]
    /// The finished job that this job runs again; nil if it repeats none.
    public var repeats: JobID?

    /// Creates a job; the store checks it when it is enqueued.
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

/// An edge from a ``NewJob`` to a job that it waits for.
public struct NewDependency: Sendable, Hashable {
    /// The job that is waited for.
    public enum Job: Sendable, Hashable {
        /// The job at this index in ``NewGraph/jobs`` of the same graph.
        case new(Int)
        /// A job that the store has already accepted.
        case existing(JobID)
    }

    /// The job to wait for.
    public var job: Job
    /// The condition that it must meet.
    public var condition: DependencyCondition

    /// Creates an edge to a job.
    public init(on job: Job, condition: DependencyCondition = .succeeded) {
        self.job = job
        self.condition = condition
    }
}

/// A name that the caller chooses for an enqueue request, so that the request can be repeated safely.
public struct IdempotencyKey: Sendable, Hashable {
    /// The key; 1 to 255 bytes.
    public var name: String
    /// The fingerprint of the request. The store refuses the same key with a different fingerprint.
    public var fingerprint: Int64

    /// Creates a key; its length is not checked here.
    public init(name: String, fingerprint: Int64) {
        self.name = name
        self.fingerprint = fingerprint
    }
}

/// The numbers of an accepted graph and its jobs.
public struct EnqueueReceipt: Sendable, Hashable {
    /// The graph's number; nil for a lone job.
    public var graph: GraphID?
    /// The jobs in the order of ``NewGraph/jobs``.
    public var jobs: [JobID]
    /// The jobs that were skipped at once because a dependency had already failed to meet its condition. Empty for a
    /// duplicate.
    public var skipped: [JobID]

    /// Creates a receipt. This initializer is for stores.
    public init(graph: GraphID?, jobs: [JobID], skipped: [JobID] = []) {
        self.graph = graph
        self.jobs = jobs
        self.skipped = skipped
    }
}

/// The outcome of enqueueing one ``NewGraph``. A refusal changes nothing and does not affect other graphs in the same
/// call.
public enum EnqueueOutcome: Sendable, Hashable {
    /// The graph was accepted.
    case enqueued(EnqueueReceipt)
    /// The key was already used for the same request. Nothing was added; the receipt is the first request's.
    case duplicate(EnqueueReceipt)
    /// The graph was refused for this reason.
    case refused(EnqueueProblem)
}

/// The reason why the store refused a graph.
public enum EnqueueProblem: Error, Sendable, Hashable {
    /// Another request, with a different fingerprint, already used this key.
    case keyUsedForAnotherRequest(key: String)
    /// There is no such job to depend on, or it is being pruned.
    case unknownDependency(JobID)
    /// There is no queue of this name.
    case unknownQueue(String)
    /// There is no such revision of a definition.
    case unknownDefinition(DefinitionID)
    /// A text contains a hidden character. `field` names the text, such as "the key".
    case hiddenCharacter(HiddenCharacter, field: String)
    /// The input names a file that only the daemon with this identity can read, and no daemon of the database ever had
    /// that identity.
    case unknownHome(String)
    /// The dependencies form a cycle; the job at this index is on it.
    case cycle(through: Int)
}

extension EnqueueProblem: CustomStringConvertible {
    /// The problem and its remedy, in a complete sentence.
    public var description: String {
        switch self {
        case .keyUsedForAnotherRequest(let key):
            "The key \"\(key)\" was used for another request. Use a new key, or repeat the earlier request."
        case .unknownDependency(let id): "There is no job \(id) to wait for; it may have been pruned."
        case .unknownQueue(let name):
            "The queue \"\(name)\" was removed. To create it again: halyard queues set \(name) --create"
        case .unknownDefinition(let id):
            "Revision \(id.rawValue) of a definition was just removed. Send the request again."
        case .hiddenCharacter(let character, let field):
            "\(field.prefix(1).uppercased())\(field.dropFirst()) contains \(character); remove it."
        case .unknownHome:
            "The input names a file in the spool of a daemon that does not belong to this database. Send the file again."
        case .cycle(let index):
            "The dependencies form a cycle through job #\(index + 1). Remove one of its edges."
        }
    }
}
