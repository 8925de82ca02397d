/// Why nodes and edges do not make a graph. A node without a name is called by its place, `#3`.
public enum GraphProblem: Hashable, Sendable {
    case badNodeName(String)
    case duplicateNode(String)
    case unknownNode(String, from: String, known: [String])
    case dependsTwice(node: String, on: String)
    /// Each waits for the one before it, and the first for the last.
    case cycle([String])
    /// The field is missing, and no dependency gives it.
    case doesNotFit(node: String, field: String, accepts: String?, offers: [Offer])

    public struct Offer: Hashable, Sendable {
        public var node: String
        public var type: String

        public init(node: String, type: String) {
            self.node = node
            self.type = type
        }
    }
}

extension GraphProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .badNodeName(let name):
            return "the node name \"\(name)\" is not allowed; \(Names.nodeNameRule)"
        case .duplicateNode(let name):
            return "two nodes are named \"\(name)\"; rename one"
        case .unknownNode(let name, let from, let known):
            return "\(called(from)): " + NearestName.unknown("node", name, among: known, listing: "the nodes are")
        case .dependsTwice(let node, let on):
            return "\(called(node)) depends on \(called(on)) twice; keep one of the two"
        case .cycle(let nodes):
            return "the dependencies form a cycle: \(Self.path(nodes)); remove one of these edges"
        case .doesNotFit(let node, let field, let accepts, let offers):
            let given = offers.prefix(5).map { "\(called($0.node)) offers \($0.type)" }.joined(separator: ", ")
            let start = "\(called(node)) lacks \"\(field)\""
            guard let accepts else {
                return start + " and takes nothing from its dependencies (\(given)); give the field"
            }
            return start + " and takes \(accepts), but \(given); give the field, or a dependency that offers \(accepts)"
        }
    }

    /// `node "upload"`, `job #3`, `job "enrich"`, `job 12`.
    static func called(_ node: String) -> String {
        if node.hasPrefix("#") { return "job \(node)" }
        return node.hasPrefix("job ") ? node : "node \"\(node)\""
    }

    private func called(_ node: String) -> String { Self.called(node) }

    private static func path(_ nodes: [String]) -> String {
        guard let first = nodes.first else { return "" }
        if nodes.count <= 12 { return (nodes + [first]).joined(separator: " → ") }
        let shown = nodes.prefix(5) + ["… (\(nodes.count) nodes)"] + nodes.suffix(5) + [first]
        return shown.joined(separator: " → ")
    }
}
