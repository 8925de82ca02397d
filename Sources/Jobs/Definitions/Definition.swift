import OperationTypes

/// A named configuration of a kind, written by a person. Jobs refer to it by name.
public struct Definition: Hashable, Sendable {
    /// The name: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes. No graph definition may have the same name.
    public var name: String
    /// The name of the kind to run.
    public var kind: String
    /// A description for people; nil for none.
    public var summary: String?
    /// The name of the queue that jobs run in, unless the request names another.
    public var queue: String
    /// The priority of jobs, unless the request sets another.
    public var priority: Priority
    /// The rule that decides whether and when a failed attempt is retried.
    public var retry: RetryPolicy
    /// The maximum duration of one attempt; nil for no limit.
    public var timeout: Duration?
    /// The default fields of the input, a JSON object.
    public var input: JSONText
    /// The program to run; nil unless the kind is ``ProgramDefinition/kind``.
    public var program: ProgramDefinition?

    /// Creates a definition; ``Catalog/check(_:)`` checks it.
    public init(
        name: String, kind: String, summary: String? = nil, queue: String = QueueSettings.defaultName,
        priority: Priority = .normal, retry: RetryPolicy = .standard, timeout: Duration? = nil,
        input: JSONText = .emptyObject, program: ProgramDefinition? = nil
    ) {
        self.name = name
        self.kind = kind
        self.summary = summary
        self.queue = queue
        self.priority = priority
        self.retry = retry
        self.timeout = timeout
        self.input = input
        self.program = program
    }
}

/// A named set of definitions with edges between them, which are enqueued as one graph.
public struct GraphDefinition: Hashable, Sendable {
    /// The name: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes. No definition may have the same name.
    public var name: String
    /// A description for people; nil for none.
    public var summary: String?
    /// The nodes in the order in which they were written, which is also the order of the jobs.
    public var nodes: [Node]
    /// Short names for fields of nodes. On the command line, values may be given by position, in this order.
    public var parameters: [Parameter]

    /// Creates a graph definition; ``Catalog/check(_:)`` checks it.
    public init(name: String, summary: String? = nil, nodes: [Node], parameters: [Parameter] = []) {
        self.name = name
        self.summary = summary
        self.nodes = nodes
        self.parameters = parameters
    }

    /// A node, which becomes one job of the graph.
    public struct Node: Hashable, Sendable {
        /// The name, unique within the graph: `[A-Za-z][A-Za-z0-9_-]*`, at most 64 bytes.
        public var name: String
        /// The name of the definition that the job runs.
        public var definition: String
        /// The nodes that the job waits for, in the order in which their outputs are bound to the input.
        public var after: [Edge]
        /// Input fields that override the definition's defaults, a JSON object; nil for none.
        public var input: JSONText?
        /// The name of the queue; nil for the definition's own.
        public var queue: String?
        /// The priority; nil for the definition's own.
        public var priority: Priority?

        /// Creates a node.
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

    /// An edge to a node that must end first.
    public struct Edge: Hashable, Sendable {
        /// The name of the node to wait for.
        public var node: String
        /// The condition that it must meet.
        public var condition: DependencyCondition

        /// Creates an edge. Default: the node must have succeeded.
        public init(node: String, condition: DependencyCondition = .succeeded) {
            self.node = node
            self.condition = condition
        }
    }

    /// A short name for an input field of a node.
    public struct Parameter: Hashable, Sendable {
        /// The name, unique within the graph: `[A-Za-z][A-Za-z0-9_-]*`, at most 64 bytes.
        public var name: String
        /// The name of the node.
        public var node: String
        /// The name of the field of that node's input.
        public var field: String

        /// Creates a parameter.
        public init(name: String, node: String, field: String) {
            self.name = name
            self.node = node
            self.field = field
        }
    }
}

/// The number of one revision of a definition. A job keeps the revision that it was enqueued with.
public struct DefinitionID: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Wraps a number; it is not checked.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A revision of a definition, as stored.
public struct StoredDefinition: Hashable, Sendable {
    /// The number of this revision, unique among all definitions.
    public var id: DefinitionID
    /// The number of the revision, counted from 1 for each name.
    public var revision: Int
    /// The definition as it was written.
    public var definition: Definition
    /// When this revision was written.
    public var updatedAt: Timestamp
    /// The reason why the definition cannot be used now, such as an unknown kind; nil if it can.
    public var problem: String?
    /// The reason why the stored form is invalid; nil if it is valid. The invalid parts of `definition` are then
    /// replaced by other values, and no job runs it.
    public var unreadable: String?

    /// Creates a stored definition.
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

/// A revision of a graph definition, as stored.
public struct StoredGraphDefinition: Hashable, Sendable {
    /// The number of the revision, counted from 1 for each name.
    public var revision: Int
    /// The graph definition as it was written.
    public var definition: GraphDefinition
    /// When this revision was written.
    public var updatedAt: Timestamp
    /// The reason why the graph definition cannot be used now; nil if it can.
    public var problem: String?
    /// The reason why the stored form is invalid; nil if it is valid. `definition` then has a name but no nodes.
    public var unreadable: String?

    /// Creates a stored graph definition.
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
