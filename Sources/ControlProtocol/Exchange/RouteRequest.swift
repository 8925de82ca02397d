import Jobs

/// A request that arrived at a ``Route``.
package struct RouteRequest: Sendable {
    /// The value of the path's parameter, without percent escapes; empty if the path has none.
    package let parameter: String
    /// The items of the query.
    package let items: [(name: String, value: String)]
    /// The value of the header `Idempotency-Key`.
    package let key: String?
    /// Reads the whole body, which may have at most this many bytes.
    package let body: @Sendable (Int) async throws(ControlProblem) -> [UInt8]

    package init(
        parameter: String, items: [(name: String, value: String)], key: String?,
        body: @escaping @Sendable (Int) async throws(ControlProblem) -> [UInt8]
    ) {
        self.parameter = parameter
        self.items = items
        self.key = key
        self.body = body
    }

    /// The number of the job in the path.
    package func job() throws(ControlProblem) -> JobID { JobID(try number("job")) }
    /// The number of the graph in the path.
    package func graph() throws(ControlProblem) -> GraphID { GraphID(try number("graph")) }
    /// The name in the path.
    var name: String { parameter }

    private func number(_ concept: String) throws(ControlProblem) -> Int64 {
        guard let number = Int64(parameter), number > 0 else {
            throw ControlProblem(.invalidRequest, "\"\(parameter)\" is not a \(concept) number.")
        }
        return number
    }

    /// Reads the body and decodes it. An invalid value is the caller's error.
    func value<Value: WireValue>(_ type: Value.Type = Value.self) async throws(ControlProblem) -> Value {
        try Value(request: try await body(JSONText.maxBytes), limit: JSONText.maxBytes)
    }

    /// Parses the query, which may contain only these items.
    func query(_ known: String...) throws(ControlProblem) -> Query { try Query(items, known: known) }

    /// The items of a URL's query.
    struct Query {
        private var items: [String: String] = [:]

        /// Refuses an unknown item and suggests the nearest name.
        fileprivate init(_ items: [(name: String, value: String)], known: [String]) throws(ControlProblem) {
            for (name, value) in items {
                guard known.contains(name) else {
                    throw ControlProblem(
                        .invalidRequest,
                        "The query is invalid: "
                            + NearestName.unknown("item", name, among: known, listing: "known are") + ".")
                }
                guard self.items.updateValue(value, forKey: name) == nil else {
                    throw ControlProblem(.invalidRequest, "The query contains \"\(name)\" twice. Give it once.")
                }
            }
        }

        subscript(name: String) -> String? { items[name] }

        func flag(_ name: String) throws(ControlProblem) -> Bool {
            switch items[name] {
            case nil, "false"?: return false
            case "true"?, ""?: return true
            case let other?:
                throw ControlProblem(.invalidRequest, "\"\(name)\" must be true or false, not \"\(other)\".")
            }
        }

        func number(_ name: String) throws(ControlProblem) -> Int64? {
            guard let text = items[name] else { return nil }
            guard let number = Int64(text), number > 0 else {
                throw ControlProblem(.invalidRequest, "\"\(name)\" must be a number of at least 1, not \"\(text)\".")
            }
            return number
        }

        func duration(_ name: String, atMost limit: Duration) throws(ControlProblem) -> Duration? {
            guard let text = items[name] else { return nil }
            guard let duration = Duration(human: text), duration <= limit else {
                throw ControlProblem(
                    .invalidRequest,
                    "\"\(name)\" must be a duration such as 30s, at most \(limit.human), not \"\(text)\".")
            }
            return duration
        }
    }
}

extension WireValue {
    /// Decodes the value of a request's body.
    ///
    /// - Throws: ``ControlProblem``, `invalidRequest` if the body is not the JSON of such a value.
    package init(request body: [UInt8], limit: Int) throws(ControlProblem) {
        let json: JSONText
        do {
            json = try JSONText(checking: body, limit: limit)
        } catch {
            throw ControlProblem(.invalidRequest, "The body is invalid: \(error).")
        }
        do {
            try self.init(json: json)
        } catch {
            throw ControlProblem(error)
        }
    }
}
