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
        if let last = detail.log?.last, !last.isEmpty {
            try output.line("\("last lines of the log", .bold)")
            for line in last { try output.line("  " + LogText.shown(line)) }
        }
        for (title, jobs) in [("waits for", detail.dependencies), ("is waited for by", detail.dependents)]
        where !jobs.isEmpty {
            try output.line("\(title, .bold)")
            try output.table(Self.neighbours(jobs))
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

    private var facts: [(String, StyledText?)] {
        let job = detail.job
        func time(_ moment: Timestamp?) -> StyledText? { moment.map { TimeText.both($0, now: now) } }
        let isWaiting = !job.state.isFinal && job.state != .running
        return [
            ("definition", "\(job.definition) revision \(job.definitionRevision), kind \(job.kind)"),
            ("graph", job.graph.map { graph in job.node.map { "\(graph), node \($0)" } ?? "\(graph)" }),
            ("queue", "\(job.queue), priority \(job.priority.name)"), ("enqueued", time(job.enqueuedAt)),
            ("runs only on", detail.daemon.map { "the daemon \($0), which has its file" }),
            (job.state == .ready ? "ready since" : "due", isWaiting ? time(job.dueAt) : nil),
            ("started", time(job.startedAt)), ("cancel asked", time(job.cancelRequestedAt)),
            ("finished", time(job.finishedAt)), ("tries", "\(job.tries) of \(job.maxTries)"),
            ("counted crashes", crashes), ("repeats", job.repeats.map { "job \($0)" }),
            ("progress", detail.progress.map(ProgressText.line)),
            ("checkpoint", checkpoint), ("log", log),
            ("file", detail.file.map { "\($0.name), \(AmountText.bytes($0.size)), SHA-256 \($0.sha256)" }),
            ("input", job.input.map { "\($0.string.prefix(Self.valueLimit))" }),
        ]
    }

    /// The number of crashes that count against the job, and the number of all crashes if it is larger.
    private var crashes: StyledText? {
        guard let crashes = detail.crashes else { return nil }
        let all = detail.attempts.count { $0.outcome == .crashed }
        let limit = crashes.limit.map { " of at most \($0)" } ?? ""
        let others = all == crashes.counted ? "" : "; \(all) crash\(all == 1 ? "" : "es") in all"
        return "\(crashes.counted)\(limit)\(others)"
    }

    private var checkpoint: StyledText? {
        detail.checkpoint.map { checkpoint in
            "attempt \(checkpoint.attempt), \(AmountText.bytes(Int64(checkpoint.value.bytes.count))), \(TimeText.both(checkpoint.savedAt, now: now))"
        }
    }

    private var log: StyledText? {
        guard let log = detail.log?.summary else { return nil }
        return
            "attempt \(log.attempt), \(AmountText.bytes(log.bytes)), \(AmountText.count(log.lines, "line")); to print it: halyard log \(detail.job.id)"
    }

    private var attempts: Table {
        var columns: [Table.Column<AttemptRecord>] = [
            .init("", .right) { "\($0.lease.attempt)" }, .init { "\($0.outcome.name, $0.outcome.style)" },
            .init { "\($0.startedAt.iso8601)" },
            .init("", .right) { "\(TimeText.duration($0.endedAt - $0.startedAt))" },
        ]
        if detail.attempts.contains(where: { $0.usage != nil }) {
            columns.append(.init { "\($0.usage.map(AmountText.usage) ?? "", .dim)" })
        }
        return Table(detail.attempts, columns + [.init(wraps: true, cell: explanation)])
    }

    /// The error of an attempt, and when the next one begins.
    private func explanation(of attempt: AttemptRecord) -> StyledText {
        var text = attempt.error?.text ?? StyledText()
        // For an earlier attempt that time has passed, and a final job has no next try.
        if let retryAt = attempt.retryAt, detail.job.state == .scheduled, attempt.lease.attempt == detail.job.attempt {
            if !text.isEmpty { text += "  " }
            text += "\("next try \(TimeText.relative(retryAt, to: now))", .dim)"
        }
        return text
    }

    private static func neighbours(_ jobs: [JobDetail.Neighbour]) -> Table {
        Table(
            jobs,
            [
                .init("", .right) { "\($0.job)" }, .init { "\($0.node ?? $0.definition)" }, .init { $0.state.text },
                .init { $0.condition == .succeeded ? "" : "\("(\($0.condition.name))", .dim)" },
            ])
    }
}
