import Jobs

extension QueueChange {
    /// Parses a queue, written as `{limit: 32, weight: 2}`. An omitted field is not changed.
    init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        // A queue without fields, such as `network:`, is created with the defaults.
        let fields = try JSONFields(json.isNull ? .emptyObject : json, at: path, known: ["name", "limit", "weight"])
        self.init(
            name: try readName(fields, key: name), limit: try fields.integer("limit"),
            weight: try fields.integer("weight"))
    }
}
