import Jobs

extension QueueChange {
    /// `{limit: 32, weight: 2}`; a field that is left out stays as it is.
    init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        // `network:` alone makes the queue with its defaults.
        let fields = try JSONFields(json.isNull ? .emptyObject : json, at: path, known: ["name", "limit", "weight"])
        self.init(
            name: try readName(fields, key: name), limit: try fields.integer("limit"),
            weight: try fields.integer("weight"))
    }
}
