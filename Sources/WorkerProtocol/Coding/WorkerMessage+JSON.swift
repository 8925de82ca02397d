import Jobs
import OperationTypes

extension WorkerMessage {
    /// Parses one line.
    ///
    /// - Throws: ``WorkerProtocolProblem``.
    public init(line: [UInt8]) throws(WorkerProtocolProblem) {
        self = try WorkerProtocolProblem.reading(line) { (type, fields) throws(ShapeProblem) in
            switch type {
            case "kinds": .kinds(try Announcement(fields))
            case "refused":
                .refused(try fields.list("settings") { (fields) throws(ShapeProblem) in try SettingRefusal(fields) })
            case "started":
                .started(try fields.list("attempts") { (fields) throws(ShapeProblem) in try fields.lease() })
            case "progress":
                .progress(
                    try fields.lease(),
                    OperationProgress(
                        completed: Int64(try fields.required("completed", fields.integer("completed"))),
                        total: try fields.integer("total").map(Int64.init), unit: try fields.string("unit") ?? ""))
            case "checkpoint":
                .checkpoint(try fields.lease(), id: try fields.id(), try fields.json("checkpoint"))
            case "connections": .connections(try fields.lease(), try fields.array("connections"))
            case "succeeded":
                .succeeded(
                    try fields.lease(), output: try fields.json("output"),
                    children: fields["children"] == nil
                        ? [] : try fields.list("children") { (fields) throws(ShapeProblem) in try ChildJob(fields) })
            case "failed": .failed(try fields.lease(), try TryFailure(fields))
            case "checked":
                .checked(
                    id: try fields.id(),
                    refusals: try fields.optionals("refusals") { (fields) throws(ShapeProblem) in
                        try InputRefusal(fields)
                    })
            case "job_state":
                .jobState(
                    id: try fields.id(), kind: try fields.required("kind", fields.string("kind")),
                    job: try fields.job())
            case "cleaned_up": .cleanedUp(id: try fields.id(), isAnythingLeft: try fields.boolean("left") ?? false)
            case "pong": .pong(id: try fields.id())
            default: nil
            }
        }
    }

    /// Appends the message and a line break to `bytes`.
    public func append(to bytes: inout [UInt8]) {
        WorkerProtocol.append(to: &bytes) { line in
            switch self {
            case .kinds(let announcement): announcement.write(to: &line)
            case .refused(let refusals):
                line.type("refused")
                line.field("settings", refusals) { refusal, line in line.object { refusal.write(to: &$0) } }
            case .started(let leases):
                line.type("started")
                line.field("attempts", leases) { lease, line in line.object { $0.fields(of: lease) } }
            case .progress(let lease, let progress):
                line.type("progress", lease)
                line.field("completed", progress.completed)
                line.field("total", progress.total)
                line.field("unit", progress.unit)
            case .checkpoint(let lease, let id, let value):
                line.type("checkpoint", lease)
                line.field("id", Int64(id))
                line.field("checkpoint", value)
            case .connections(let lease, let connections):
                line.type("connections", lease)
                line.field("connections", connections)
            case .succeeded(let lease, let output, let children):
                line.type("succeeded", lease)
                if !children.isEmpty {
                    line.field("children", children) { child, line in line.object { child.write(to: &$0) } }
                }
                line.field("output", output)
            case .failed(let lease, let failure):
                line.type("failed", lease)
                failure.write(to: &line)
            case .checked(let id, let refusals):
                line.type("checked", id: id)
                line.field("refusals", refusals) { refusal, line in
                    guard let refusal else { return line.value("null".utf8) }
                    line.object { refusal.write(to: &$0) }
                }
            case .jobState(let id, let kind, let job):
                line.type("job_state", id: id)
                line.field("kind", kind)
                line.field("job", job.rawValue)
            case .cleanedUp(let id, let isAnythingLeft):
                line.type("cleaned_up", id: id)
                line.field("left", isAnythingLeft)
            case .pong(let id): line.type("pong", id: id)
            }
        }
    }
}

extension Announcement {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            protocolVersion: try fields.required("protocol", fields.integer("protocol")),
            version: try fields.string("version"),
            kinds: try fields.list("kinds") { (fields) throws(ShapeProblem) in try AnnouncedKind(fields) },
            warnings: try fields.strings("warnings") ?? [])
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.type("kinds")
        line.field("protocol", Int64(protocolVersion))
        line.field("version", version)
        line.field("kinds", kinds) { kind, line in line.object { kind.write(to: &$0) } }
        if !warnings.isEmpty { line.field("warnings", warnings) { $1.string($0) } }
    }
}

extension AnnouncedKind {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        let name = try fields.required("name", fields.string("name"))
        let description = KindDescription(
            name: name, summary: try fields.string("summary") ?? name,
            inputType: try fields.string("input_type") ?? "object",
            outputType: try fields.string("output_type") ?? name, accepts: try fields.string("accepts"),
            offers: try fields.string("offers") ?? name,
            fields: fields["fields"] == nil
                ? [] : try fields.list("fields") { (fields) throws(ShapeProblem) in try InputField(fields) })
        self.init(
            description, checksInputs: try fields.boolean("checks") ?? false,
            cleansUp: try fields.boolean("cleans_up") ?? false)
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.field("name", description.name)
        line.field("summary", description.summary)
        line.field("input_type", description.inputType)
        line.field("output_type", description.outputType)
        line.field("accepts", description.accepts)
        line.field("offers", description.offers)
        line.field("fields", description.fields) { field, line in line.object { field.write(to: &$0) } }
        line.field("checks", checksInputs)
        line.field("cleans_up", cleansUp)
    }
}

extension InputField {
    private static let shapes: [(String, Shape)] = [
        ("string", .string), ("integer", .integer), ("number", .number), ("boolean", .boolean), ("object", .object),
        ("array", .array), ("size", .size), ("duration", .duration),
    ]

    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        let range = try fields.elements("range")?.compactMap(\.integer)
        if let range, range.count != 2 || range[0] > range[1] {
            throw fields.problem("range", "expected a list of two whole numbers, the smaller one first")
        }
        self.init(
            try fields.required("name", fields.string("name")), try fields.word("shape", of: Self.shapes) ?? .string,
            choices: try fields.strings("choices"),
            range: range.map { $0[0]...$0[1] },
            schemes: try fields.strings("schemes"),
            isRequired: try fields.boolean("required") ?? false,
            isFromDependency: try fields.boolean("from_dependency") ?? false,
            summary: try fields.string("summary") ?? "")
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.field("name", name)
        line.field("shape", shape.rawValue)
        if let choices { line.field("choices", choices) { $1.string($0) } }
        if let range {
            line.field("range", [range.lowerBound, range.upperBound]) { $1.value(String($0).utf8) }
        }
        if let schemes { line.field("schemes", schemes) { $1.string($0) } }
        line.field("required", isRequired)
        line.field("from_dependency", isFromDependency)
        line.field("summary", summary)
    }
}

extension SettingRefusal {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            key: try fields.required("key", fields.string("key")), entry: try fields.integer("entry", atLeast: 0),
            message: try fields.required("message", fields.string("message")),
            errorNumber: try fields.integer("errno").map { Int32(clamping: $0) })
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.field("key", key)
        line.field("entry", entry.map(Int64.init))
        line.field("message", message)
        line.field("errno", errorNumber.map(Int64.init))
    }
}

extension TryFailure {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            JobFailure(
                code: try fields.required("code", fields.string("code")),
                message: try fields.required("message", fields.string("message")), detail: fields["detail"]),
            isRetryable: try fields.boolean("retryable") ?? false,
            retryAfter: try fields.milliseconds("retry_after_ms"))
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.field("code", failure.code)
        line.field("message", failure.message)
        line.field("detail", failure.detail)
        line.field("retryable", isRetryable)
        line.field("retry_after_ms", retryAfter?.milliseconds)
    }
}

extension ChildJob {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            definition: try fields.required("definition", fields.string("definition")), input: fields["input"],
            queue: try fields.string("queue"), priority: try fields.priority("priority"))
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.field("definition", definition)
        line.field("queue", queue)
        line.field("priority", priority?.name)
        line.field("input", input)
    }
}

extension InputRefusal {
    private static let reasons: [(String, Reason)] = [
        ("invalid", .invalid), ("file_outside_roots", .fileOutsideRoots), ("credential_refused", .credentialRefused),
    ]

    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            try fields.required("message", fields.string("message")),
            reason: try fields.word("reason", of: Self.reasons) ?? .invalid)
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.field("reason", Self.reasons.first { $0.1 == reason }?.0)
        line.field("message", message)
    }
}
