import ControlProtocol
import Jobs

/// Prints everything about one job.
struct JobPage {
    var detail: JobDetail
    var now: Timestamp

    /// Longer values are cut. `halyard result` and `--json` show the complete values.
    private static let valueLimit = 2000

    func write(to output: Output) throws {
        let job = detail.job
        try output.line("\("job \(job.id)", .bold)  \(job.definition, .bold)  \(job.state.text)")
        try output.table(.facts(facts))
        if !detail.attempts.isEmpty {
            try output.line("\("attempts", .bold)")
            try output.table(attempts)
        }
        // Only the last attempt's connections are shown; `--json` shows all.
        if let attempt = detail.attempts.last(where: { $0.connections != nil }) {
            let connections = ConnectionRecord.list(in: attempt.connections)
            try output.line(ConnectionTable.title(attempt, connections))
            try output.table(ConnectionTable.table(connections))
        }
        if !detail.dependencies.isEmpty {
            try output.line("\("waits for", .bold)")
            try output.table(Self.neighbours(detail.dependencies))
        }
        if !detail.dependents.isEmpty {
            try output.line("\("is waited for by", .bold)")
            try output.table(Self.neighbours(detail.dependents))
        }
        switch detail.result?.value {
        case .succeeded(let value):
            try output.line("\("result", .bold)")
            try output.line("  \(value.string.prefix(Self.valueLimit))")
            if value.bytes.count > Self.valueLimit {
                try output.line("  … (to see all of it: halyard result \(job.id))")
            }
        case .ended(_, let failure):
            try output.line("\("result", .bold)")
            try output.line("  " + failure.text)
        case nil: break
        }
    }

    private var facts: [(String, StyledText)] {
        let job = detail.job
        var facts: [(String, StyledText)] = [
            ("definition", "\(job.definition) revision \(job.definitionRevision), kind \(job.kind)")
        ]
        if let graph = job.graph {
            facts.append(("graph", job.node.map { "\(graph), node \($0)" } ?? "\(graph)"))
        }
        facts.append(("queue", "\(job.queue), priority \(job.priority.name)"))
        facts.append(("enqueued", TimeText.both(job.enqueuedAt, now: now)))
        if let dueAt = job.dueAt, !job.state.isFinal, job.state != .running {
            facts.append((job.state == .ready ? "ready since" : "due", TimeText.both(dueAt, now: now)))
        }
        if let startedAt = job.startedAt { facts.append(("started", TimeText.both(startedAt, now: now))) }
        if let requestedAt = job.cancelRequestedAt {
            facts.append(("cancel asked", TimeText.both(requestedAt, now: now)))
        }
        if let finishedAt = job.finishedAt { facts.append(("finished", TimeText.both(finishedAt, now: now))) }
        facts.append(("tries", "\(job.tries) of \(job.maxTries)"))
        if job.rescues > 0 { facts.append(("rescues", "\(job.rescues)")) }
        if let repeated = job.repeats { facts.append(("repeats", "job \(repeated)")) }
        if let progress = detail.progress { facts.append(("progress", ProgressText.line(progress))) }
        if let input = job.input { facts.append(("input", "\(input.string.prefix(Self.valueLimit))")) }
        return facts
    }

    private var attempts: Table {
        var table = Table([.init("", .right), .init(""), .init(""), .init("", .right), .init("", wraps: true)])
        table.hasHeader = false
        table.indent = 2
        table.rows = detail.attempts.map { attempt in
            var what = attempt.error?.text ?? StyledText()
            // For an earlier attempt that time has passed, and a final job has no next try.
            if let retryAt = attempt.retryAt, detail.job.state == .scheduled,
                attempt.lease.attempt == detail.job.attempt
            {
                if !what.isEmpty { what += "  " }
                what += "\("next try \(TimeText.relative(retryAt, to: now))", .dim)"
            }
            return [
                "\(attempt.lease.attempt)", "\(attempt.outcome.name, attempt.outcome.style)",
                "\(attempt.startedAt.iso8601)", "\(TimeText.duration(attempt.endedAt - attempt.startedAt))", what,
            ]
        }
        return table
    }

    private static func neighbours(_ jobs: [JobDetail.Neighbour]) -> Table {
        var table = Table([.init("", .right), .init(""), .init(""), .init("")])
        table.hasHeader = false
        table.indent = 2
        table.rows = jobs.map { neighbour in
            [
                "\(neighbour.job)", "\(neighbour.node ?? neighbour.definition)", neighbour.state.text,
                neighbour.condition == .succeeded ? StyledText() : "\("(\(neighbour.condition.name))", .dim)",
            ]
        }
        return table
    }
}
