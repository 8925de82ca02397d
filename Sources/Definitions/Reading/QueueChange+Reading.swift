import Jobs

extension QueueChange {
    /// Parses a queue, written as `{limit: 32, limit_per_daemon: 8, weight: 2}`. An omitted field is not changed.
    init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        let perDaemon = "limit_per_daemon"
        // A queue without fields, such as `network:`, is created with the defaults.
        let fields = try JSONFields(
            json.isNull ? .emptyObject : json, at: path, known: ["name", "limit", perDaemon, "weight"])
        self.init(
            name: try readName(fields, key: name), limit: try fields.integer("limit"),
            limitPerDaemon: try fields[perDaemon].map { (json) throws(ShapeProblem) in
                try DaemonLimit(json: json, at: path + [perDaemon])
            },
            weight: try fields.integer("weight"))
    }
}
