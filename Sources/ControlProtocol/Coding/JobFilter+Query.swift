import Jobs

/// Encoded as the parameters of a URL's query: `state=ready,running`, `queue`, `definition`, `kind`, `graph`,
/// `after`, `order` and `limit`.
extension JobFilter {
    /// Parses the parameters of a query.
    ///
    /// - Throws: `ShapeProblem` for an unknown parameter or an invalid value.
    public init(query: [(name: String, value: String)]) throws(ShapeProblem) {
        self.init()
        for (name, value) in query {
            try set(name, value)
        }
    }

    private mutating func set(_ name: String, _ value: String) throws(ShapeProblem) {
        do {
            try setKnown(name, value)
        } catch {
            throw error.path.isEmpty ? error.inside(name) : error
        }
    }

    private mutating func setKnown(_ name: String, _ value: String) throws(ShapeProblem) {
        switch name {
        case "state":
            var found: Set<JobState> = states ?? []
            for word in value.split(separator: ",") { found.insert(try JobState(exactName: String(word))) }
            states = found
        case "queue": queue = value
        case "definition": definition = value
        case "kind": kind = value
        case "graph": graph = try GraphID(json: JSONText(trusted: Array(value.utf8)))
        case "after": after = try JobID(json: JSONText(trusted: Array(value.utf8)))
        case "order": order = try Order(exactName: value)
        case "limit":
            guard let number = Int(value), (1...10_000).contains(number) else {
                throw ShapeProblem("expected a number from 1 to 10000")
            }
            limit = number
        default:
            let known = ["state", "queue", "definition", "kind", "graph", "after", "order", "limit"]
            throw ShapeProblem(
                NearestName.unknown("field", name, among: known, listing: "the fields are"), at: [name])
        }
    }

    /// The parameters for a query that ``init(query:)`` parses to this filter.
    public var query: [(name: String, value: String)] {
        var items: [(name: String, value: String)] = []
        if let states {
            let names = states.sorted { $0.rawValue < $1.rawValue }.map(\.name)
            items.append(("state", names.joined(separator: ",")))
        }
        if let queue { items.append(("queue", queue)) }
        if let definition { items.append(("definition", definition)) }
        if let kind { items.append(("kind", kind)) }
        if let graph { items.append(("graph", graph.description)) }
        if let after { items.append(("after", after.description)) }
        if order != .newestFirst { items.append(("order", order.name)) }
        items.append(("limit", String(limit)))
        return items
    }
}
