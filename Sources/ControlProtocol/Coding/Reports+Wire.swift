import Jobs
import OperationTypes

/// Encoded as the job's own fields plus `progress`, `result`, `attempts`, `crashes`, `dependencies`, `dependents`,
/// `checkpoint`, `log` and `file`.
extension JobDetail: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let job = try fields.part(\.job)
        let progress = try fields("progress", \.progress)
        try self.init(
            job: job, result: fields("result", \.result), attempts: fields("attempts", \.attempts),
            crashes: fields("crashes", \.crashes), dependencies: fields("dependencies", \.dependencies),
            dependents: fields("dependents", \.dependents),
            progress: progress, checkpoint: fields("checkpoint", \.checkpoint), log: fields("log", \.log),
            file: fields("file", \.file), daemon: fields("daemon", \.daemon))
    }
}

extension CrashReport: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(counted: fields("counted", \.counted), limit: fields("limit", \.limit))
    }
}

extension JobDetail.Neighbour: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            job: fields("job", \.job), definition: fields("definition", \.definition), node: fields("node", \.node),
            state: fields("state", \.state), condition: fields("condition", \.condition))
    }
}

/// Encoded as the graph's own fields plus `jobs` and `edges`.
extension GraphDetail: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(graph: fields.part(\.graph), jobs: fields("jobs", \.jobs), edges: fields("edges", \.edges))
    }
}

extension CancelAnswer: WireObjectValue {
    init(fields: JSONFields) throws(ShapeProblem) {
        let name: String = try fields.required("result")
        let result: CancelResult
        switch name {
        case "cancelled": result = .cancelled
        case "requested": result = .requested
        case "already_final": result = .alreadyFinal(try fields.required("outcome"))
        case "unknown": result = .unknown
        default: throw ShapeProblem("\"\(name)\" is not the result of a cancellation", at: ["result"])
        }
        self.init(job: try fields.required("job"), result: result)
    }

    func writeFields(to writer: inout JSONWriter) {
        writer.field("job", job)
        switch result {
        case .cancelled: writer.field("result", "cancelled")
        case .requested: writer.field("result", "requested")
        case .alreadyFinal(let outcome): writer.fields(["result": "already_final", "outcome": outcome])
        case .unknown: writer.field("result", "unknown")
        }
    }
}

extension StatusReport: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            state: fields("state", \.state), pid: fields("pid", \.pid), version: fields("version", \.version),
            database: fields("database", \.database), startedAt: fields("started_at", \.startedAt),
            counts: fields("counts", \.counts), queues: fields("queues", \.queues),
            nextDueAt: fields("next_due_at", \.nextDueAt), spool: fields("spool", \.spool),
            problems: fields("problems", \.problems))
    }
}

extension SpoolReport: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            files: fields("files", \.files), bytes: fields("bytes", \.bytes), maxBytes: fields("max_bytes", \.maxBytes),
            keptFiles: fields("kept_files", \.keptFiles), keptBytes: fields("kept_bytes", \.keptBytes))
    }
}

extension DefinitionLine: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            change: fields("change", \.change), type: fields("type", \.type), name: fields("name", \.name),
            fields: fields.list("fields", \.fields), warning: fields("warning", \.warning))
    }
}

/// Encoded with the type of the event in `event`. Events of type `job` and `progress` have a field of the same
/// name.
extension WatchEvent: WireObjectValue {
    init(fields: JSONFields) throws(ShapeProblem) {
        let event: String = try fields.required("event")
        switch event {
        case "job": self = .job(try fields.required("job"))
        case "progress":
            let progress: AttemptProgress = try fields.required("progress")
            self = .progress(job: progress.job, attempt: progress.attempt, progress.progress)
        case "missed": self = .missed
        case "final": self = .final
        default: throw ShapeProblem("\"\(event)\" is not an event of this release", at: ["event"])
        }
    }

    func writeFields(to writer: inout JSONWriter) {
        switch self {
        case .job(let job): writer.fields(["event": "job", "job": job])
        case .progress(let job, let attempt, let progress):
            writer.fields([
                "event": "progress",
                "progress": AttemptProgress(job: job, attempt: attempt, progress: progress),
            ])
        case .missed: writer.field("event", "missed")
        case .final: writer.field("event", "final")
        }
    }
}

/// Encoded as `job`, `attempt` and the progress's own fields.
private struct AttemptProgress {
    var job: JobID
    var attempt: Int
    var progress: OperationProgress
}

extension AttemptProgress: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            job: fields("job", \.job), attempt: fields("attempt", \.attempt), progress: fields.part(\.progress))
    }
}

extension PruneAnswer: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            deleted: fields("deleted", \.deleted), keptByGraph: fields("kept_by_graph", \.keptByGraph),
            keptByDependents: fields("kept_by_dependents", \.keptByDependents))
    }
}

extension SpoolAnswer: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(file: fields("file", \.file))
    }
}
