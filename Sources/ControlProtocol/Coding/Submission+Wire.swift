import Jobs

/// Encoded as `definition` or `jobs` (with `name`), plus `input`, `queue`, `priority`, `after`, `at` or
/// `in_ms`, and `key`.
extension Submission: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly(
            "definition", "jobs", "name", "input", "queue", "priority", "after", "at", "in_ms", "key")
        let definition = try fields("definition") {
            if case .definition(let name) = $0.work { name } else { nil }
        }
        let name = try fields("name") { if case .jobs(_, let name) = $0.work { name } else { nil } }
        let jobs = try fields("jobs") { if case .jobs(let jobs, _) = $0.work { jobs } else { nil } }
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
        try self.init(
            work, input: fields("input", \.input), queue: fields("queue", \.queue),
            priority: fields("priority", \.priority), after: fields.list("after", \.after))
        let at = try fields("at") { if case .at(let at) = $0.start { at } else { nil } }
        let wait = try fields("in_ms") { if case .after(let wait) = $0.start { wait } else { nil } }
        switch (at, wait) {
        case (nil, nil): start = .now
        case (let at?, nil): start = .at(at)
        case (nil, let wait?): start = .after(wait)
        case (_?, _?): throw ShapeProblem("give either \"at\" or \"in_ms\", not both")
        }
        key = try fields("key", \.key)
    }
}

/// Encoded as `{"job": 12, "condition": "finished"}`. A bare number is also accepted.
extension Submission.ExistingDependency: WireRecord {
    public init(json: JSONText) throws(ShapeProblem) {
        if json.integer != nil {
            self.init(job: try JobID(json: json))
        } else {
            try self.init(fields: JSONFields(json))
        }
    }

    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly("job", "condition")
        try self.init(job: fields("job", \.job), condition: fields.optional("condition", \.condition) ?? .succeeded)
    }
}

extension JobRequest: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly("node", "definition", "input", "queue", "priority", "at", "after")
        try self.init(
            node: fields("node", \.node), definition: fields("definition", \.definition),
            input: fields("input", \.input), queue: fields("queue", \.queue), priority: fields("priority", \.priority),
            startAt: fields("at", \.startAt), after: fields.list("after", \.after))
    }
}

/// Encoded as `{"node": "fetch", "condition": "finished"}`, or with `job` instead of `node`. A bare name or
/// number is also accepted.
extension JobRequest.Dependency: WireRecord {
    public init(json: JSONText) throws(ShapeProblem) {
        if let node = json.decodedString {
            self.init(.node(node))
        } else if json.integer != nil {
            self.init(.job(try JobID(json: json)))
        } else {
            try self.init(fields: JSONFields(json))
        }
    }

    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try fields.allowOnly("node", "job", "condition")
        let node = try fields("node") { if case .node(let node) = $0.job { node } else { nil } }
        let job = try fields("job") { if case .job(let job) = $0.job { job } else { nil } }
        let condition = try fields.optional("condition", \.condition) ?? .succeeded
        switch (node, job) {
        case (let node?, nil): self.init(.node(node), condition: condition)
        case (nil, let job?): self.init(.job(job), condition: condition)
        default: throw ShapeProblem("a dependency names either a \"node\" of this graph or an existing \"job\"")
        }
    }
}

extension EnqueueReceipt: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            graph: fields("graph", \.graph), jobs: fields("jobs", \.jobs), skipped: fields.list("skipped", \.skipped))
    }
}

/// Encoded with `status`: `enqueued` or `duplicate` with the receipt's fields, or `refused` with `problem`.
extension SubmissionAnswer: WireObjectValue {
    init(fields: JSONFields) throws(ShapeProblem) {
        let status: String = try fields.required("status")
        switch status {
        case "enqueued": self = .enqueued(try EnqueueReceipt(fields: fields))
        case "duplicate": self = .duplicate(try EnqueueReceipt(fields: fields))
        case "refused": self = .refused(try fields.required("problem"))
        default: throw ShapeProblem("\"\(status)\" is not the status of an answer", at: ["status"])
        }
    }

    func writeFields(to writer: inout JSONWriter) {
        switch self {
        case .enqueued(let receipt):
            writer.field("status", "enqueued")
            receipt.writeFields(to: &writer)
        case .duplicate(let receipt):
            writer.field("status", "duplicate")
            receipt.writeFields(to: &writer)
        case .refused(let problem): writer.fields(["status": "refused", "problem": problem])
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
