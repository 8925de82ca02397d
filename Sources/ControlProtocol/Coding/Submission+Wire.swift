import Jobs

/// Encoded as `definition` or `jobs` (with `name`), plus `input`, `queue`, `priority`, `after`, `at` or
/// `in_ms`, and `key`.
extension Submission: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly(
            "definition", "jobs", "name", "input", "queue", "priority", "after", "at", "in_ms", "key")
        let definition: String? = try fields.optional("definition")
        let jobs: [JobRequest]? = try fields.optional("jobs")
        let name: String? = try fields.optional("name")
        let work: Work
        switch (definition, jobs) {
        case (let definition?, nil):
            if name != nil {
                throw ShapeProblem("\"name\" is allowed only with \"jobs\"; a definition has its own name")
            }
            work = .definition(definition)
        case (nil, let jobs?): work = .jobs(jobs, name: name)
        case (nil, nil): throw ShapeProblem("\"definition\" is missing (or \"jobs\", to describe a graph)")
        case (_?, _?): throw ShapeProblem("give either \"definition\" or \"jobs\", not both")
        }
        let at: Timestamp? = try fields.optional("at")
        let wait: Duration? = try fields.optional("in_ms")
        let start: Start
        switch (at, wait) {
        case (nil, nil): start = .now
        case (let at?, nil): start = .at(at)
        case (nil, let wait?): start = .after(wait)
        case (_?, _?): throw ShapeProblem("give either \"at\" or \"in_ms\", not both")
        }
        self.init(
            work, input: fields.payload("input"), queue: try fields.optional("queue"),
            priority: try fields.optional("priority"), after: try fields.optional("after") ?? [], start: start,
            key: try fields.optional("key"))
    }

    func write(to object: inout WireObject) {
        switch work {
        case .definition(let name): object.add("definition", name)
        case .jobs(let jobs, let name):
            object.add("name", name)
            object.add("jobs", jobs)
        }
        object.add(payload: "input", input)
        object.add("queue", queue)
        object.add("priority", priority)
        object.add("after", after.isEmpty ? nil : after)
        switch start {
        case .now: break
        case .at(let at): object.add("at", at)
        case .after(let wait): object.add("in_ms", wait)
        }
        object.add("key", key)
    }
}

/// Encoded as `{"job": 12, "condition": "finished"}`. A bare number is also accepted.
extension Submission.ExistingDependency: WireObjectValue {
    public init(json: JSONText) throws(ShapeProblem) {
        if json.integer != nil {
            self.init(job: try JobID(json: json))
        } else {
            try self.init(fields: WireFields(json))
        }
    }

    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("job", "condition")
        self.init(job: try fields.required("job"), condition: try fields.optional("condition") ?? .succeeded)
    }

    func write(to object: inout WireObject) {
        object.add("job", job)
        object.add("condition", condition)
    }
}

extension JobRequest: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("node", "definition", "input", "queue", "priority", "at", "after")
        self.init(
            node: try fields.optional("node"), definition: try fields.required("definition"),
            input: fields.payload("input"), queue: try fields.optional("queue"),
            priority: try fields.optional("priority"), startAt: try fields.optional("at"),
            after: try fields.optional("after") ?? [])
    }

    func write(to object: inout WireObject) {
        object.add("node", node)
        object.add("definition", definition)
        object.add(payload: "input", input)
        object.add("queue", queue)
        object.add("priority", priority)
        object.add("at", startAt)
        object.add("after", after.isEmpty ? nil : after)
    }
}

/// Encoded as `{"node": "fetch", "condition": "finished"}`, or with `job` instead of `node`. A bare name or
/// number is also accepted.
extension JobRequest.Dependency: WireObjectValue {
    public init(json: JSONText) throws(ShapeProblem) {
        if let node = json.decodedString {
            self.init(.node(node))
        } else if json.integer != nil {
            self.init(.job(try JobID(json: json)))
        } else {
            try self.init(fields: WireFields(json))
        }
    }

    init(fields: WireFields) throws(ShapeProblem) {
        try fields.allowOnly("node", "job", "condition")
        let node: String? = try fields.optional("node")
        let job: JobID? = try fields.optional("job")
        let condition: DependencyCondition = try fields.optional("condition") ?? .succeeded
        switch (node, job) {
        case (let node?, nil): self.init(.node(node), condition: condition)
        case (nil, let job?): self.init(.job(job), condition: condition)
        default: throw ShapeProblem("a dependency names either a \"node\" of this graph or an existing \"job\"")
        }
    }

    func write(to object: inout WireObject) {
        switch parent {
        case .node(let node): object.add("node", node)
        case .job(let job): object.add("job", job)
        }
        object.add("condition", condition)
    }
}

extension EnqueueReceipt: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            graph: try fields.optional("graph"), jobs: try fields.required("jobs"),
            skipped: try fields.optional("skipped") ?? [])
    }

    func write(to object: inout WireObject) {
        object.add("graph", graph)
        object.add("jobs", jobs)
        object.add("skipped", skipped.isEmpty ? nil : skipped)
    }
}

/// Encoded with `status`: `enqueued` or `duplicate` with the receipt's fields, or `refused` with `problem`.
extension SubmissionAnswer: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        let status: String = try fields.required("status")
        switch status {
        case "enqueued": self = .enqueued(try EnqueueReceipt(fields: fields))
        case "duplicate": self = .duplicate(try EnqueueReceipt(fields: fields))
        case "refused": self = .refused(try fields.required("problem"))
        default: throw ShapeProblem("\"\(status)\" is not the status of an answer", at: ["status"])
        }
    }

    func write(to object: inout WireObject) {
        switch self {
        case .enqueued(let receipt):
            object.add("status", "enqueued")
            receipt.write(to: &object)
        case .duplicate(let receipt):
            object.add("status", "duplicate")
            receipt.write(to: &object)
        case .refused(let problem):
            object.add("status", "refused")
            object.add("problem", problem)
        }
    }
}

extension SubmissionAnswer {
    private static let beginning = Array(#"{"status":"enqueued","jobs":["#.utf8)
    private static let end = Array("]}".utf8)

    /// Parses the most common answer, one new job, without the cost of a JSON parser.
    ///
    /// - Returns: Nil for every other answer.
    public init?(oneJob line: ArraySlice<UInt8>) {
        let digits = line.dropFirst(Self.beginning.count).dropLast(Self.end.count)
        guard line.starts(with: Self.beginning), line.suffix(Self.end.count).elementsEqual(Self.end),
            (1...18).contains(digits.count)
        else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        guard number > 0 else { return nil }
        self = .enqueued(EnqueueReceipt(graph: nil, jobs: [JobID(number)]))
    }
}
