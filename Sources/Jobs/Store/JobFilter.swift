/// The selection and order of a listing. Each field that is set narrows the selection; nil selects everything.
public struct JobFilter: Sendable, Hashable {
    /// The order of a listing, by job number.
    public enum Order: Sendable, Hashable { case newestFirst, oldestFirst }

    /// The states to list.
    public var states: Set<JobState>?
    /// The name of the queue to list.
    public var queue: String?
    /// The name of the definition whose jobs are listed, in any revision.
    public var definition: String?
    /// The name of the kind whose jobs are listed.
    public var kind: String?
    /// The graph whose jobs are listed.
    public var graph: GraphID?
    /// The job after which the listing begins, in its order.
    public var after: JobID?
    /// Default: newest first.
    public var order: Order
    /// The maximum number of jobs, 1 to 10,000. Default: 100. The listing ends earlier if the inputs of its jobs reach
    /// ``pageBytes``.
    public var limit: Int
    /// The size of all inputs together, in bytes, at which the listing ends.
    public var pageBytes = maxPageBytes
    /// Whether the records contain the jobs' inputs. If not, ``JobRecord/input`` is nil.
    public var withInputs: Bool

    /// The default of ``pageBytes``: 8 MiB.
    public static let maxPageBytes = 8 << 20

    /// Creates a filter. Without arguments it selects the 100 newest jobs.
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

    /// Whether more jobs may follow the last job of a page that this filter selected.
    public func mayContinue(after page: [JobRecord]) -> Bool {
        page.count >= limit || page.reduce(0) { $0 + ($1.input?.bytes.count ?? 0) } >= pageBytes
    }
}

/// A part of a listing. It is small enough that reading it does not delay other callers.
public struct JobPage: Sendable, Hashable {
    /// The maximum number of jobs on a page.
    public static let maxJobs = 100
    /// The size of inputs at which a page ends: 32 KiB.
    public static let maxInputBytes = 32 << 10

    /// The jobs, in the listing's order. A page may be empty although more pages follow.
    public var jobs: [JobRecord]
    /// The job after which the next page begins; nil at the end of the listing.
    public var next: JobID?

    /// Creates a page.
    public init(jobs: [JobRecord], next: JobID?) {
        self.jobs = jobs
        self.next = next
    }
}

/// The position of an edge in the list of its graph's edges.
public struct EdgePosition: Sendable, Hashable {
    /// The job that waits.
    public var dependent: JobID
    /// The edge's index among the dependencies of that job, in declared order, from 0.
    public var position: Int

    /// Creates a position.
    public init(dependent: JobID, position: Int) {
        self.dependent = dependent
        self.position = position
    }
}

/// A part of a graph's edges. It is small enough that reading it does not delay other callers.
public struct EdgePage: Sendable, Hashable {
    /// The maximum number of edges on a page.
    public static let maxEdges = 1000

    /// The edges, ordered by dependent and then as declared.
    public var edges: [DependencyRecord]
    /// The edge after which the next page begins; nil after the last edge.
    public var next: EdgePosition?

    /// Creates a page.
    public init(edges: [DependencyRecord], next: EdgePosition?) {
        self.edges = edges
        self.next = next
    }
}

/// Reads a listing page by page. Each page contains the jobs as they were when that page was read.
public struct JobListing: Sendable {
    private var filter: JobFilter
    private var inputBytes = 0
    /// Whether the last page was read.
    public private(set) var isOver = false

    /// Creates a listing that has read no page yet.
    public init(_ filter: JobFilter) { self.filter = filter }

    /// Reads the next page. A page may be empty although the listing is not over; after the end, every page is empty.
    ///
    /// - Throws: ``StoreError``. The page was not consumed; calling again reads it again.
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

/// The criteria for deleting finished jobs.
///
/// A graph is deleted as a whole, and a job without a graph on its own. Either is deleted if all its jobs ended before
/// `finishedBefore`, its outcome is among `outcomes`, and no job outside of it depends on it.
///
/// The outcome of a graph is `failed` if any of its jobs failed, otherwise `cancelled` if any was cancelled, otherwise
/// `skipped` if any was skipped, otherwise `succeeded`.
public struct PruneRequest: Sendable, Hashable {
    /// The moment before which all jobs must have ended.
    public var finishedBefore: Timestamp
    /// The outcomes to delete.
    public var outcomes: Set<Outcome>

    /// Creates a request. Default: all outcomes.
    public init(finishedBefore: Timestamp, outcomes: Set<Outcome> = Set(Outcome.allCases)) {
        self.finishedBefore = finishedBefore
        self.outcomes = outcomes
    }
}

/// The result of one step of pruning.
public struct PruneStep: Sendable, Hashable {
    /// The number of deleted jobs.
    public var deleted: Int
    /// The number of jobs with a matching outcome that stay because their graph has another outcome.
    public var keptByGraph: Int
    /// The number of matching jobs that stay because other jobs depend on them or on their graph.
    public var keptByDependents: Int
    /// The job below which the next step begins. Nil if no jobs are left to check.
    public var next: JobID?

    /// Creates a step's result.
    public init(deleted: Int, keptByGraph: Int = 0, keptByDependents: Int = 0, next: JobID?) {
        self.deleted = deleted
        self.keptByGraph = keptByGraph
        self.keptByDependents = keptByDependents
        self.next = next
    }
}

/// A change to one queue's settings. A nil field leaves the setting unchanged. A queue that does not exist is created.
public struct QueueChange: Sendable, Hashable {
    /// The name of the queue.
    public var name: String
    /// The new ``QueueSettings/limit``.
    public var limit: Int?
    /// The new ``QueueSettings/limitPerDaemon``.
    public var limitPerDaemon: DaemonLimit?
    /// The new ``QueueSettings/weight``.
    public var weight: Int?
    /// Whether the queue is to be paused. A paused queue starts no jobs; running jobs continue.
    public var isPaused: Bool?

    /// Creates a change; the values are not checked.
    public init(
        name: String, limit: Int? = nil, limitPerDaemon: DaemonLimit? = nil, weight: Int? = nil, isPaused: Bool? = nil
    ) {
        self.name = name
        self.limit = limit
        self.limitPerDaemon = limitPerDaemon
        self.weight = weight
        self.isPaused = isPaused
    }
}

/// Definitions, schedules and queues to write in one transaction. A definition that equals its current revision is not
/// written again.
public struct DefinitionChange: Sendable, Hashable {
    /// The queues to create or change.
    public var queues: [QueueChange]
    /// The definitions to write. Each that differs from its current revision becomes a new one.
    public var definitions: [Definition]
    /// The graph definitions to write. Each that differs from its current revision becomes a new one.
    public var graphs: [GraphDefinition]
    /// The schedules to write. A changed schedule ignores times before the change, and stays paused if it was paused.
    public var schedules: [Schedule]
    /// The names of definitions and graph definitions to remove, so that they can no longer be enqueued. Jobs that
    /// refer to them continue.
    public var removals: [String]
    /// The names of schedules to remove. The jobs that they enqueued continue.
    public var scheduleRemovals: [String]

    /// Creates a change; ``Catalog/check(_:)`` checks it.
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

/// Everything that a request can refer to by name, without removed entries.
public struct DefinitionSet: Sendable, Hashable {
    /// The kinds that the daemon can run.
    public var kinds: [KindDescription]
    /// The queues with their settings.
    public var queues: [QueueSettings]
    /// The current revisions of the definitions.
    public var definitions: [StoredDefinition]
    /// The current revisions of the graph definitions.
    public var graphs: [StoredGraphDefinition]
    /// The schedules, without those whose stored form is invalid.
    public var schedules: [Schedule]
    /// The version of the settings that this is; nil if the set is a part of them or comes from another place.
    public var version: SettingsVersion?

    /// Creates a set.
    public init(
        kinds: [KindDescription] = [], queues: [QueueSettings] = [], definitions: [StoredDefinition] = [],
        graphs: [StoredGraphDefinition] = [], schedules: [Schedule] = [], version: SettingsVersion? = nil
    ) {
        self.kinds = kinds
        self.queues = queues
        self.definitions = definitions
        self.graphs = graphs
        self.schedules = schedules
        self.version = version
    }

    /// Returns the parts that an enqueue by this name needs: the definition or graph definition, the definitions of its
    /// nodes, and their kinds and queues.
    ///
    /// - Returns: Nil if there is no definition or graph definition of that name.
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
