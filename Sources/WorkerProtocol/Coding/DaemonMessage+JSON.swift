import Jobs
import OperationTypes

extension DaemonMessage {
    /// Parses one line.
    ///
    /// - Throws: ``WorkerProtocolProblem``.
    public init(line: [UInt8]) throws(WorkerProtocolProblem) {
        self = try WorkerProtocolProblem.reading(line) { (type, fields) throws(ShapeProblem) in
            switch type {
            case "hello": .hello(try Hello(fields))
            case "output": .output(try DependencyMessage(fields))
            case "run": .run(try Run(fields))
            case "checkpointed": .checkpointed(try fields.lease(), id: try fields.id())
            case "checkpoint_refused":
                .checkpointRefused(try fields.lease(), id: try fields.id(), try CheckpointRefusal(fields))
            case "stop": .stop(try fields.lease(), try StopRequest(fields))
            case "check":
                .check(
                    id: try fields.id(),
                    try fields.list("inputs") { (fields) throws(ShapeProblem) in try PlannedInput(fields) })
            case "recorded":
                .recorded(try fields.lease(), kind: try fields.required("kind", fields.string("kind")))
            case "clean_up": .cleanUp(id: try fields.id())
            case "job_state":
                .jobState(
                    id: try fields.id(),
                    try fields.word("state", of: JobState.allCases.map { ($0.name, $0) }))
            case "ping": .ping(id: try fields.id())
            case "drain": .drain
            default: nil
            }
        }
    }

    /// Appends the message and a line break to `bytes`.
    public func append(to bytes: inout [UInt8]) {
        WorkerProtocol.append(to: &bytes) { line in
            switch self {
            case .hello(let hello): hello.write(to: &line)
            case .output(let message): message.write(to: &line)
            case .run(let run): run.write(to: &line)
            case .checkpointed(let lease, let id):
                line.type("checkpointed", lease)
                line.field("id", Int64(id))
            case .checkpointRefused(let lease, let id, let refusal):
                line.type("checkpoint_refused", lease)
                line.field("id", Int64(id))
                line.field("reason", refusal.reason.rawValue)
                line.field("message", refusal.message)
            case .stop(let lease, let request):
                line.type("stop", lease)
                line.field("reason", request.reason.rawValue)
                line.field("for_good", request.isForGood)
            case .check(let id, let inputs):
                line.type("check", id: id)
                line.field("inputs", inputs) { input, line in line.object { input.write(to: &$0) } }
            case .recorded(let lease, let kind):
                line.type("recorded", lease)
                line.field("kind", kind)
            case .cleanUp(let id): line.type("clean_up", id: id)
            case .jobState(let id, let state):
                line.type("job_state", id: id)
                line.field("state", state?.name)
            case .ping(let id): line.type("ping", id: id)
            case .drain: line.type("drain")
            }
        }
    }
}

extension Hello {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            protocolVersion: try fields.required("protocol", fields.integer("protocol")),
            version: try fields.string("version") ?? "",
            attempts: try fields.integer("attempts", atLeast: 1) ?? 1,
            savesCheckpoints: try fields.boolean("checkpoints") ?? false,
            settings: try fields.objectText("settings") ?? .emptyObject)
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.type("hello")
        line.field("protocol", Int64(protocolVersion))
        line.field("version", version)
        line.field("attempts", Int64(attempts))
        line.field("checkpoints", savesCheckpoints)
        line.field("settings", settings)
    }
}

extension DependencyMessage {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            lease: try fields.lease(), kind: try fields.required("kind", fields.string("kind")),
            output: try fields.json("output"))
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.type("output", lease)
        line.field("kind", kind)
        line.field("output", output)
    }
}

extension Run {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        var retry = RetryPolicy.never
        if let policy = fields["retry"] { retry = try LastRetryPolicy.policy(of: policy) }
        self.init(
            lease: try fields.lease(), kind: try fields.required("kind", fields.string("kind")),
            input: try fields.json("input"), checkpoint: fields.optionalJSON("checkpoint"),
            tries: try fields.integer("tries", atLeast: 0) ?? 0, retry: retry,
            timeout: try fields.milliseconds("timeout_ms"))
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.type("run", lease)
        line.field("kind", kind)
        line.field("tries", Int64(tries))
        line.field("retry", LastRetryPolicy.json(of: retry))
        line.field("timeout_ms", timeout?.milliseconds)
        line.field("checkpoint", checkpoint)
        line.field("input", input)
    }
}

extension CheckpointRefusal {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        let reason = try fields.word("reason", of: Reason.allCases.map { ($0.rawValue, $0) })
        self.init(
            try fields.required("reason", reason), message: try fields.required("message", fields.string("message")))
    }
}

extension StopRequest {
    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        let reason = try fields.word("reason", of: Reason.allCases.map { ($0.rawValue, $0) })
        self.init(
            try fields.required("reason", reason), isForGood: try fields.boolean("for_good") ?? false)
    }
}

extension PlannedInput {
    private static let stages: [(String, Stage)] = [
        ("definition", .definition), ("waiting", .waiting), ("whole", .whole),
    ]

    fileprivate init(_ fields: JSONFields) throws(ShapeProblem) {
        self.init(
            kind: try fields.required("kind", fields.string("kind")), input: try fields.json("input"),
            stage: try fields.required("stage", fields.word("stage", of: Self.stages)))
    }

    fileprivate func write(to line: inout JSONWriter) {
        line.field("kind", kind)
        line.field("stage", Self.stages.first { $0.1 == stage }?.0)
        line.field("input", input)
    }
}
