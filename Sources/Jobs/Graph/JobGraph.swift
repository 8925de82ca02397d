import OperationTypes

/// Builds a graph of jobs whose edges the compiler checks.
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
/// `from` takes a node whose kind offers just what the new kind accepts (see ``Kind/Accepted``): any other does not
/// compile. `after` only orders, and takes nodes of every kind.
public struct JobGraph: Sendable {
    /// Of which graph a handle is; copies of a graph share it.
    private final class Identity: Sendable {}

    public var name: String?
    private let identity = Identity()
    private var nodes: [Settings] = []
    private var names: Set<String> = []
    private var problem: JobGraphProblem?

    public init(name: String? = nil) { self.name = name }

    /// A node of a graph, by which later nodes refer to it.
    public struct Node<K: Kind>: Sendable, Hashable {
        /// Its name within the graph.
        public let name: String
        fileprivate let index: Int
        fileprivate let graph: ObjectIdentifier

        /// Wait for its success.
        public var succeeded: Ordering { Ordering(name: name, graph: graph, condition: .succeeded) }
        /// Wait for its end, whatever it is.
        public var finished: Ordering { Ordering(name: name, graph: graph, condition: .finished) }
        /// What it gives, without its kind, for lists of nodes of several kinds.
        public var offer: Offer<K.Offered> { Offer(ordering: succeeded) }
    }

    /// An edge that orders, and carries a value only where it fits.
    public struct Ordering: Sendable, Hashable {
        fileprivate let name: String
        fileprivate let graph: ObjectIdentifier
        fileprivate let condition: DependencyCondition
    }

    /// A value of type `Value` that a node will give.
    public struct Offer<Value>: Sendable {
        fileprivate let ordering: Ordering
    }

    /// What can be set of a node besides its input.
    public struct Settings: Sendable, Hashable {
        public let node: String
        /// The definition's name. Default: the kind's name.
        public var definition: String
        public var queue: String?
        public var priority: Priority?
        public var startAt: Timestamp?
        fileprivate let input: JSONText?
        fileprivate let after: [Ordering]
    }

    /// A node that takes nothing from another one.
    @discardableResult
    public mutating func add<K: Kind>(
        _ kind: K.Type = K.self, named name: String? = nil, input: K.Input, after: [Ordering] = []
    ) -> Node<K> {
        insert(name, input, after)
    }

    /// A node that takes what another one offers.
    @discardableResult
    public mutating func add<K: Kind, Source: Kind>(
        _ kind: K.Type = K.self, named name: String? = nil, from source: Node<Source>, input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == Source.Offered {
        insert(name, input, [source.succeeded] + after)
    }

    /// A node that takes whatever another one gives.
    @discardableResult
    public mutating func add<K: Kind, Source: Kind>(
        _ kind: K.Type = K.self, named name: String? = nil, from source: Node<Source>, input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == AnyOutput {
        insert(name, input, [source.succeeded] + after)
    }

    /// A node that takes what all of some nodes of one kind offer, in order.
    @discardableResult
    public mutating func add<K: Kind, Source: Kind>(
        _ kind: K.Type = K.self, named name: String? = nil, from sources: [Node<Source>], input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == [Source.Offered] {
        insert(name, input, sources.map(\.succeeded) + after)
    }

    /// A node that takes what all of some nodes offer, in order; their kinds may differ.
    @discardableResult
    public mutating func add<K: Kind, Value>(
        _ kind: K.Type = K.self, named name: String? = nil, from sources: [Offer<Value>], input: K.Input? = nil,
        after: [Ordering] = []
    ) -> Node<K> where K.Accepted == [Value] {
        insert(name, input, sources.map(\.ordering) + after)
    }

    public subscript<K>(node: Node<K>) -> Settings {
        get {
            precondition(node.graph == ObjectIdentifier(identity), "\(node.name) is a node of another graph")
            return nodes[node.index]
        }
        set {
            precondition(node.graph == ObjectIdentifier(identity), "\(node.name) is a node of another graph")
            nodes[node.index] = newValue
        }
    }

    /// The graph as it is enqueued.
    ///
    /// - Throws: An input could not be encoded, or a handle of another graph was used.
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

    private mutating func insert<K: Kind>(_ given: String?, _ input: K.Input?, _ after: [Ordering]) -> Node<K> {
        let name = given ?? freeName(K.name)
        names.insert(name)
        if let foreign = after.first(where: { $0.graph != ObjectIdentifier(identity) }) {
            problem = problem ?? .foreignNode(foreign.name, node: name)
        }
        nodes.append(
            Settings(node: name, definition: K.name, input: input.flatMap { encode($0, of: name) }, after: after))
        return Node(name: name, index: nodes.count - 1, graph: ObjectIdentifier(identity))
    }

    /// The kind's name, else with the place in the graph.
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

/// Why a ``JobGraph`` cannot be enqueued.
public enum JobGraphProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input could not be encoded as JSON, or is too large.
    case badInput(node: String, reason: String)
    /// A node depends on a handle that another graph gave.
    case foreignNode(String, node: String)

    public var description: String {
        switch self {
        case .badInput(let node, let reason): "the input of node \"\(node)\" cannot be encoded: \(reason)"
        case .foreignNode(let name, let node):
            "node \"\(node)\" refers to \"\(name)\" of another graph; add that to this graph first"
        }
    }
}
