import OperationTypes
import Synchronization

/// Builds a graph of jobs whose edges are checked by the compiler.
///
/// ```swift
/// var graph = JobGraph(name: "save")
/// let link = graph.add(Unfurl.self, input: .init(url: "https://example.org/x"))
/// let page = graph.add(Enrich.self, from: link)
/// let receipt = graph.add(Upload.self, from: page, input: .init(to: "https://example.org/keep"))
/// graph.add(Report.self, input: .init(), after: [receipt.finished])
/// graph[receipt].priority = .high
/// let submission = try graph.submission()
/// ```
///
/// `from` requires a node whose kind offers exactly the type that the new kind accepts (see ``Kind/Accepted``); any
/// other node does not compile. `after` only orders the jobs, and takes nodes of every kind.
public struct JobGraph: Sendable {
    /// Identifies the graph that a handle belongs to. Copies of a graph share it.
    fileprivate final class Identity: Sendable, Hashable {
        let jobs = Mutex<[JobID]>([])

        static func == (a: Identity, b: Identity) -> Bool { a === b }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    /// The graph's name; nil if it has none.
    public var name: String?
    private let identity = Identity()
    private var nodes: [Settings] = []
    private var names: Set<String> = []
    private var problem: JobGraphProblem?

    /// Creates a graph without jobs.
    public init(name: String? = nil) { self.name = name }

    /// A handle for a node of a graph, by which later nodes refer to it.
    public struct Node<K: KindSignature>: Sendable, Hashable {
        /// The node's name within its graph.
        public let name: String
        fileprivate let index: Int
        fileprivate let graph: Identity

        /// The node's job, if the graph was enqueued and ``JobGraph/noteEnqueued(_:)`` was called; else nil.
        public var job: JobID? {
            graph.jobs.withLock { $0.indices.contains(index) ? $0[index] : nil }
        }

        /// An edge that waits until this node has succeeded.
        public var succeeded: Ordering { Ordering(name: name, graph: graph, condition: .succeeded) }
        /// An edge that waits until this node has ended, with any outcome.
        public var finished: Ordering { Ordering(name: name, graph: graph, condition: .finished) }
        /// The offered value without the node's kind, for lists of nodes of several kinds.
        public var offer: Offer<K.Offered> { Offer(ordering: succeeded) }
    }

    /// An edge that orders two jobs. It passes on an output only if the types fit.
    public struct Ordering: Sendable, Hashable {
        fileprivate let name: String
        fileprivate let graph: Identity
        fileprivate let condition: DependencyCondition
    }

    /// A value of type `Value` that a node will offer.
    public struct Offer<Value>: Sendable {
        fileprivate let ordering: Ordering
    }

    /// The settings of a node, except its input.
    public struct Settings: Sendable, Hashable {
        /// The node's name within its graph.
        public let node: String
        /// The definition's name. Default: the kind's name.
        public var definition: String
        /// The name of the queue; nil for the definition's own.
        public var queue: String?
        /// The priority; nil for the definition's own.
        public var priority: Priority?
        /// The earliest start; nil to start as soon as the dependencies allow.
        public var startAt: Timestamp?
        fileprivate let input: JSONText?
        fileprivate let after: [Ordering]
    }

    /// Adds a node that accepts nothing from other nodes.
    @discardableResult
    public mutating func add<K: KindSignature>(
        _ kind: K.Type = K.self, named name: String? = nil, input: K.Input, after: [Ordering] = []
    ) -> Node<K> {
        insert(name, input, after)
    }

    /// Adds a node that accepts the value that another node offers.
    @discardableResult
    public mutating func add<K: KindSignature, Source: KindSignature>(
        _ kind: K.Type = K.self, named name: String? = nil, from source: Node<Source>, input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == Source.Offered {
        insert(name, input, [source.succeeded] + after)
    }

    /// Adds a node that accepts any output of another node.
    @discardableResult
    public mutating func add<K: KindSignature, Source: KindSignature>(
        _ kind: K.Type = K.self, named name: String? = nil, from source: Node<Source>, input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == AnyOutput {
        insert(name, input, [source.succeeded] + after)
    }

    /// Adds a node that accepts the values offered by several nodes of one kind, in order.
    @discardableResult
    public mutating func add<K: KindSignature, Source: KindSignature>(
        _ kind: K.Type = K.self, named name: String? = nil, from sources: [Node<Source>], input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == [Source.Offered] {
        insert(name, input, sources.map(\.succeeded) + after)
    }

    /// Adds a node that accepts the values offered by several nodes, in order. The nodes may be of different kinds.
    @discardableResult
    public mutating func add<K: KindSignature, Value>(
        _ kind: K.Type = K.self, named name: String? = nil, from sources: [Offer<Value>], input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == [Value] {
        insert(name, input, sources.map(\.ordering) + after)
    }

    /// The settings of a node. The handle must come from this graph or from a copy of it.
    public subscript<K>(node: Node<K>) -> Settings {
        get {
            precondition(node.graph == identity, "\(node.name) is a node of another graph")
            return nodes[node.index]
        }
        set {
            precondition(node.graph == identity, "\(node.name) is a node of another graph")
            nodes[node.index] = newValue
        }
    }

    /// The graph in the form in which it is enqueued.
    ///
    /// - Parameter key: The idempotency key, 1 to 255 bytes; nil for none.
    /// - Throws: ``JobGraphProblem`` if an input could not be encoded, or if a handle of another graph was used.
    public func submission(key: String? = nil) throws(JobGraphProblem) -> Submission {
        if let problem { throw problem }
        let jobs = nodes.map { node in
            JobRequest(
                node: node.node, definition: node.definition, input: node.input, queue: node.queue,
                priority: node.priority, startAt: node.startAt,
                after: node.after.map { .init(.node($0.name), condition: $0.condition) })
        }
        return Submission(.jobs(jobs, name: name), key: key)
    }

    /// Assigns the jobs of an accepted submission to the nodes, so that ``Node/job`` returns them. A later call replaces
    /// them.
    public func noteEnqueued(_ receipt: EnqueueReceipt) { identity.jobs.withLock { $0 = receipt.jobs } }

    private mutating func insert<K: KindSignature>(_ given: String?, _ input: K.Input?, _ after: [Ordering]) -> Node<K>
    {
        let name = given ?? freeName(K.name)
        names.insert(name)
        if let foreign = after.first(where: { $0.graph != identity }) {
            problem = problem ?? .foreignNode(foreign.name, node: name)
        }
        nodes.append(
            Settings(node: name, definition: K.name, input: input.flatMap { encode($0, of: name) }, after: after))
        return Node(name: name, index: nodes.count - 1, graph: identity)
    }

    /// A name that no node has yet: the kind's name, with a number appended if it is taken.
    private func freeName(_ kind: String) -> String {
        if !names.contains(kind) { return kind }
        var number = nodes.count + 1
        while names.contains("\(kind)-\(number)") { number += 1 }
        return "\(kind)-\(number)"
    }

    private mutating func encode(_ input: some Encodable, of node: String) -> JSONText? {
        do {
            return try JSONText(checking: PayloadCoding.encode(input).bytes)
        } catch {
            problem = problem ?? .badInput(node: node, reason: PayloadCoding.explain(error))
            return nil
        }
    }
}

/// The reason why a ``JobGraph`` cannot be enqueued.
public enum JobGraphProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input of a node is too large or could not be encoded as JSON.
    case badInput(node: String, reason: String)
    /// A node depends on a handle from another graph.
    case foreignNode(String, node: String)

    public var description: String {
        switch self {
        case .badInput(let node, let reason): "the input of node \"\(node)\" cannot be encoded: \(reason)"
        case .foreignNode(let name, let node):
            "node \"\(node)\" refers to \"\(name)\" of another graph; add that node to this graph first"
        }
    }
}
