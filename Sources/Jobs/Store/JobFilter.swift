/// The selection of a listing. Each field that is set narrows it.
public struct JobFilter: Sendable, Hashable {
    public enum Order: Sendable, Hashable { case newestFirst, oldestFirst }

    public var states: Set<JobState>?
    public var queue: String?
    public var definition: String?
    public var kind: String?
    public var graph: GraphID?
    /// The listing begins after this job, in its order.
    public var after: JobID?
    public var order: Order
    /// The most jobs, 1 to 10,000. The listing ends earlier if the inputs of its jobs reach ``pageBytes``.
    public var limit: Int
    public var pageBytes = maxPageBytes
    /// Whether records contain the jobs' inputs; otherwise their input is nil.
    public var withInputs: Bool

    public static let maxPageBytes = 8 << 20

    public init(
        states: Set<JobState>? = nil, queue: String? = nil, definition: String? = nil, kind: String? = nil,
        graph: GraphID? = nil, after: JobID? = nil, order: Order = .newestFirst, limit: Int = 100,
        withInputs: Bool = true
    ) {
        self.states = states
        self.queue = queue
        self.definition = definition
        self.kind = kind
        self.graph = graph
        self.after = after
        self.order = order
        self.limit = limit
        self.withInputs = withInputs
    }

    /// Whether there may be more jobs after the last job of a page.
    public func mayGoOn(after page: [JobRecord]) -> Bool {
        page.count >= limit || page.reduce(0) { $0 + ($1.input?.bytes.count ?? 0) } >= pageBytes
    }
}

/// A part of a listing, small enough that reading it does not delay other callers.
public struct JobPage: Sendable, Hashable {
    public static let maxJobs = 100
    /// A page ends when the inputs of its jobs reach this size.
    public static let maxInputBytes = 32 << 10

    /// Jobs in the listing's order. A page may be empty although more pages follow.
    public var jobs: [JobRecord]
    /// The job after which the next page begins; nil at the end of the listing.
    public var next: JobID?

    public init(jobs: [JobRecord], next: JobID?) {
        self.jobs = jobs
        self.next = next
    }
}

/// The position of an edge among the edges of its graph.
public struct EdgePosition: Sendable, Hashable {
    public var dependent: JobID
    public var position: Int

    public init(dependent: JobID, position: Int) {
        self.dependent = dependent
        self.position = position
    }
}

/// A part of a graph's edges, small enough that reading it does not delay other callers.
public struct EdgePage: Sendable, Hashable {
    public static let maxEdges = 1000

    public var edges: [DependencyRecord]
    /// The edge after which the next page begins; nil after the last edge.
    public var next: EdgePosition?

    public init(edges: [DependencyRecord], next: EdgePosition?) {
        self.edges = edges
        self.next = next
    }
}

/// Reads a listing page by page. Each page shows the jobs as they were when it was read.
public struct JobListing: Sendable {
    private var filter: JobFilter
    private var inputBytes = 0
    public private(set) var isOver = false

    public init(_ filter: JobFilter) { self.filter = filter }

    /// Reads the next page, which may be empty although the listing is not over.
    public mutating func next(from store: some JobStore) async throws(StoreError) -> [JobRecord] {
        if isOver { return [] }
        let page = try await store.page(filter)
        filter.after = page.next
        filter.limit -= page.jobs.count
        for job in page.jobs { inputBytes += job.input?.bytes.count ?? 0 }
        isOver = page.next == nil || filter.limit <= 0 || inputBytes >= filter.pageBytes
        return page.jobs
    }
}

/// Which finished jobs to delete: a graph as a whole, or a job without one, when all of it is final since before the
/// moment, its outcome is among the outcomes, and no job outside of it depends on it.
///
/// A graph's outcome is `failed` if a job failed, else `cancelled` if one was, else `skipped` if one was, else `succeeded`.
public struct PruneRequest: Sendable, Hashable {
    public var finishedBefore: Timestamp
    public var outcomes: Set<Outcome>

    public init(finishedBefore: Timestamp, outcomes: Set<Outcome> = Set(Outcome.allCases)) {
        self.finishedBefore = finishedBefore
        self.outcomes = outcomes
    }
}

/// The result of one step of pruning.
public struct PruneStep: Sendable, Hashable {
    /// The number of deleted jobs.
    public var deleted: Int
    /// The number of jobs with a wanted outcome that stay because their graph has another outcome.
    public var keptByGraph: Int
    /// The number of wanted jobs that stay because other jobs depend on them or on their graph.
    public var keptByDependents: Int
    /// The next step begins below this job. Nil if no jobs are left to check.
    public var next: JobID?

    public init(deleted: Int, keptByGraph: Int = 0, keptByDependents: Int = 0, next: JobID?) {
        self.deleted = deleted
        self.keptByGraph = keptByGraph
        self.keptByDependents = keptByDependents
        self.next = next
    }
}

/// Changes of one queue's settings; nil keeps a setting. A queue that does not exist is created.
public struct QueueChange: Sendable, Hashable {
    public var name: String
    public var limit: Int?
    public var weight: Int?
    public var isPaused: Bool?

    public init(name: String, limit: Int? = nil, weight: Int? = nil, isPaused: Bool? = nil) {
        self.name = name
        self.limit = limit
        self.weight = weight
        self.isPaused = isPaused
    }
}

/// Definitions, schedules and queues to write together. A definition that equals its current revision gets no new one.
public struct DefinitionChange: Sendable, Hashable {
    public var queues: [QueueChange]
    public var definitions: [Definition]
    public var graphs: [GraphDefinition]
    /// The schedules to write. A changed schedule counts its times from the change on, and stays paused if it was
    /// paused.
    public var schedules: [Schedule]
    /// The names of definitions and graph definitions that can no longer be enqueued. Jobs that refer to them continue.
    public var removals: [String]
    /// The names of schedules to remove. The jobs that they enqueued continue.
    public var scheduleRemovals: [String]

    public init(
        queues: [QueueChange] = [], definitions: [Definition] = [], graphs: [GraphDefinition] = [],
        schedules: [Schedule] = [], removals: [String] = [], scheduleRemovals: [String] = []
    ) {
        self.queues = queues
        self.definitions = definitions
        self.graphs = graphs
        self.schedules = schedules
        self.removals = removals
        self.scheduleRemovals = scheduleRemovals
    }
}

/// Everything that a request can refer to by name.
public struct DefinitionSet: Sendable, Hashable {
    public var kinds: [KindDescription]
    public var queues: [QueueSettings]
    public var definitions: [StoredDefinition]
    public var graphs: [StoredGraphDefinition]
    /// The schedules with a valid body.
    public var schedules: [Schedule]

    public init(
        kinds: [KindDescription] = [], queues: [QueueSettings] = [], definitions: [StoredDefinition] = [],
        graphs: [StoredGraphDefinition] = [], schedules: [Schedule] = []
    ) {
        self.kinds = kinds
        self.queues = queues
        self.definitions = definitions
        self.graphs = graphs
        self.schedules = schedules
    }

    /// Returns the parts that an enqueue by this name needs: the definition or graph definition, the definitions of its
    /// nodes, their kinds and queues. Returns nil if there is none of that name.
    public func part(for name: String) -> DefinitionSet? {
        let graphs = graphs.filter { $0.definition.name == name }
        let names = Set([name] + graphs.flatMap { $0.definition.nodes.map(\.definition) })
        let definitions = definitions.filter { names.contains($0.definition.name) }
        guard !graphs.isEmpty || definitions.contains(where: { $0.definition.name == name }) else { return nil }
        let kindNames = Set(definitions.map(\.definition.kind))
        let queueNames = Set(definitions.map(\.definition.queue))
        return DefinitionSet(
            kinds: kinds.filter { kindNames.contains($0.name) }, queues: queues.filter { queueNames.contains($0.name) },
            definitions: definitions, graphs: graphs)
    }
}
