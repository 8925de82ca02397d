/// The reason why nodes and edges do not form a graph. A node without a name is identified by its position, such as
/// `#3`.
public enum GraphProblem: Hashable, Sendable {
    /// The name of a node is empty, too long, or contains characters that are not allowed.
    case badNodeName(String)
    /// Two nodes have this name.
    case duplicateNode(String)
    /// The node `from` depends on a node that does not exist.
    case unknownNode(String, from: String, known: [String])
    /// A node depends on the same node or job twice.
    case dependsTwice(node: String, on: String)
    /// The nodes form a cycle. Each waits for the one before it, and the first waits for the last.
    case cycle([String])
    /// A required field is missing, and no dependency of the node offers the type that it accepts.
    case doesNotFit(node: String, field: String, accepts: String?, offers: [Offer])

    /// The type that a dependency offers, for the message.
    public struct Offer: Hashable, Sendable {
        /// The name or position of the dependency.
        public var node: String
        /// The name of the type.
        public var type: String
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
            let given = offers.prefix(Self.maxOffers).map { "\(called($0.node)) offers \($0.type)" }.joined(
                separator: ", ")
            let start = "\(called(node)) is missing the field \"\(field)\""
            guard let accepts else {
                return start + " and accepts no output of its dependencies (\(given)); set the field"
            }
            return start
                + " and accepts \(accepts), but \(given); set the field, or add a dependency that offers \(accepts)"
        }
    }

    /// The number of offers in a message.
    static let maxOffers = 5

    /// The node as it is called in messages: `node "upload"`, `job #3`, `job "enrich"` or `job 12`.
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
