import Jobs
import OperationTypes

/// Encoded as the job's own fields plus `result`, `attempts`, `dependencies`, `dependents` and `progress`.
extension JobDetail: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            job: try JobRecord(fields: fields), result: try fields.optional("result"),
            attempts: try fields.required("attempts"), dependencies: try fields.required("dependencies"),
            dependents: try fields.required("dependents"), progress: try fields.optional("progress"))
    }

    func write(to object: inout WireObject) {
        job.write(to: &object)
        object.add("progress", progress)
        object.add("result", result)
        object.add("attempts", attempts)
        object.add("dependencies", dependencies)
        object.add("dependents", dependents)
    }
}

extension JobDetail.Neighbour: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            job: try fields.required("job"), definition: try fields.required("definition"),
            node: try fields.optional("node"), state: try fields.required("state"),
            condition: try fields.required("condition"))
    }

    func write(to object: inout WireObject) {
        object.add("job", job)
        object.add("definition", definition)
        object.add("node", node)
        object.add("state", state)
        object.add("condition", condition)
    }
}

/// Encoded as the graph's own fields plus `jobs` and `edges`.
extension GraphDetail: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            graph: try GraphRecord(fields: fields), jobs: try fields.required("jobs"),
            edges: try fields.required("edges"))
    }

    func write(to object: inout WireObject) {
        graph.write(to: &object)
        object.add("jobs", jobs)
        object.add("edges", edges)
    }
}

extension CancelAnswer: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
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

    func write(to object: inout WireObject) {
        object.add("job", job)
        switch result {
        case .cancelled: object.add("result", "cancelled")
        case .requested: object.add("result", "requested")
        case .alreadyFinal(let outcome):
            object.add("result", "already_final")
            object.add("outcome", outcome)
        case .unknown: object.add("result", "unknown")
        }
    }
}

extension StatusReport: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            state: try fields.required("state"), pid: try fields.optional("pid"),
            version: try fields.required("version"), database: try fields.required("database"),
            startedAt: try fields.optional("started_at"), counts: try fields.required("counts"),
            queues: try fields.required("queues"), nextDueAt: try fields.optional("next_due_at"),
            spool: try fields.optional("spool"), problems: try fields.required("problems"))
    }

    func write(to object: inout WireObject) {
        object.add("state", state)
        object.add("pid", pid)
        object.add("version", version)
        object.add("database", database)
        object.add("started_at", startedAt)
        object.add("counts", counts)
        object.add("queues", queues)
        object.add("next_due_at", nextDueAt)
        object.add("spool", spool)
        object.add("problems", problems)
    }
}

extension SpoolReport: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            files: try fields.required("files"), bytes: try fields.required("bytes"),
            maxBytes: try fields.required("max_bytes"), keptFiles: try fields.required("kept_files"),
            keptBytes: try fields.required("kept_bytes"))
    }

    func write(to object: inout WireObject) {
        object.add("files", files)
        object.add("bytes", bytes)
        object.add("max_bytes", maxBytes)
        object.add("kept_files", keptFiles)
        object.add("kept_bytes", keptBytes)
    }
}

extension DefinitionLine: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            change: try fields.required("change"), type: try fields.required("type"),
            name: try fields.required("name"), fields: try fields.optional("fields") ?? [],
            warning: try fields.optional("warning"))
    }

    func write(to object: inout WireObject) {
        object.add("change", change)
        object.add("type", type)
        object.add("name", name)
        object.add("fields", fields.isEmpty ? nil : fields)
        object.add("warning", warning)
    }
}

/// Encoded with the type of the event in `event`. Events of type `job` and `progress` have a field of the same
/// name.
extension WatchEvent: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        let event: String = try fields.required("event")
        switch event {
        case "job": self = .job(try fields.required("job"))
        case "progress":
            guard let progress = fields["progress"] else { throw ShapeProblem("\"progress\" is missing") }
            let inner = try WireFields(progress)
            self = .progress(
                job: try inner.required("job"), attempt: try inner.required("attempt"),
                try OperationProgress(fields: inner))
        case "missed": self = .missed
        case "final": self = .final
        default: throw ShapeProblem("\"\(event)\" is not an event of this release", at: ["event"])
        }
    }

    func write(to object: inout WireObject) {
        switch self {
        case .job(let job):
            object.add("event", "job")
            object.add("job", job)
        case .progress(let job, let attempt, let progress):
            var inner = WireObject()
            inner.add("job", job)
            inner.add("attempt", attempt)
            progress.write(to: &inner)
            var bytes: [UInt8] = []
            inner.append(to: &bytes)
            object.add("event", "progress")
            object.add(payload: "progress", JSONText(trusted: bytes))
        case .missed: object.add("event", "missed")
        case .final: object.add("event", "final")
        }
    }
}

extension PruneAnswer: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) {
        self.init(
            deleted: try fields.required("deleted"), keptByGraph: try fields.required("kept_by_graph"),
            keptByDependents: try fields.required("kept_by_dependents"))
    }

    func write(to object: inout WireObject) {
        object.add("deleted", deleted)
        object.add("kept_by_graph", keptByGraph)
        object.add("kept_by_dependents", keptByDependents)
    }
}

extension SpoolAnswer: WireObjectValue {
    init(fields: WireFields) throws(ShapeProblem) { self.init(file: try fields.required("file")) }
    func write(to object: inout WireObject) { object.add("file", file) }
}
