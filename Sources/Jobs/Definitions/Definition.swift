import OperationTypes

/// A named way to run a kind: what a person writes and a job refers to.
public struct Definition: Hashable, Sendable {
    /// `[a-z0-9][a-z0-9._-]*`, at most 64 bytes; definitions and graph definitions share one space of names.
    public var name: String
    public var kind: String
    public var summary: String?
    public var queue: String
    public var priority: Priority
    public var retry: RetryPolicy
    /// The longest one attempt may take; nil for no limit.
    public var timeout: Duration?
    /// Default fields of the input, a JSON object.
    public var input: JSONText

    public init(
        name: String, kind: String, summary: String? = nil, queue: String = QueueSettings.defaultName,
        priority: Priority = .normal, retry: RetryPolicy = .standard, timeout: Duration? = nil,
        input: JSONText = .emptyObject
    ) {
        self.name = name
        self.kind = kind
        self.summary = summary
        self.queue = queue
        self.priority = priority
        self.retry = retry
        self.timeout = timeout
        self.input = input
    }
}

/// A named set of definitions with edges, enqueued as one graph.
public struct GraphDefinition: Hashable, Sendable {
    public var name: String
    public var summary: String?
    /// In the order they were written, which is the order of the jobs.
    public var nodes: [Node]
    /// Short names for fields of nodes, the first ones also positional on the command line.
    public var parameters: [Parameter]

    public init(name: String, summary: String? = nil, nodes: [Node], parameters: [Parameter] = []) {
        self.name = name
        self.summary = summary
        self.nodes = nodes
        self.parameters = parameters
    }

    public struct Node: Hashable, Sendable {
        public var name: String
        public var definition: String
        public var after: [Edge]
        /// Fields over the definition's defaults, a JSON object.
        public var input: JSONText?
        public var queue: String?
        public var priority: Priority?

        public init(
            name: String, definition: String, after: [Edge] = [], input: JSONText? = nil, queue: String? = nil,
            priority: Priority? = nil
        ) {
            self.name = name
            self.definition = definition
            self.after = after
            self.input = input
            self.queue = queue
            self.priority = priority
        }
    }

    public struct Edge: Hashable, Sendable {
        public var node: String
        public var condition: DependencyCondition

        public init(node: String, condition: DependencyCondition = .succeeded) {
            self.node = node
            self.condition = condition
        }
    }

    public struct Parameter: Hashable, Sendable {
        public var name: String
        public var node: String
        public var field: String

        public init(name: String, node: String, field: String) {
            self.name = name
            self.node = node
            self.field = field
        }
    }
}

/// The number of one revision of a definition; a job keeps the one it was enqueued with.
public struct DefinitionID: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A definition as the store keeps it.
public struct StoredDefinition: Hashable, Sendable {
    public var id: DefinitionID
    /// From 1, by name.
    public var revision: Int
    public var definition: Definition
    public var updatedAt: Timestamp
    /// Why it cannot be used now, e.g. its kind is unknown to this daemon.
    public var problem: String?
    /// What of the stored row cannot be read; `definition` then says something else there, and nothing runs by it.
    public var unreadable: String?

    public init(
        id: DefinitionID, revision: Int, definition: Definition, updatedAt: Timestamp, problem: String? = nil,
        unreadable: String? = nil
    ) {
        self.id = id
        self.revision = revision
        self.definition = definition
        self.updatedAt = updatedAt
        self.problem = problem
        self.unreadable = unreadable
    }
}

public struct StoredGraphDefinition: Hashable, Sendable {
    public var revision: Int
    public var definition: GraphDefinition
    public var updatedAt: Timestamp
    public var problem: String?
    /// Why the stored row cannot be read; `definition` then has a name and no nodes.
    public var unreadable: String?

    public init(
        revision: Int, definition: GraphDefinition, updatedAt: Timestamp, problem: String? = nil,
        unreadable: String? = nil
    ) {
        self.revision = revision
        self.definition = definition
        self.updatedAt = updatedAt
        self.problem = problem
        self.unreadable = unreadable
    }
}
