import ControlProtocol
import Jobs

/// Prints the state of the daemon.
enum StatusPage {
    static func write(_ report: StatusReport, now: Timestamp, to output: Output) throws {
        let style: TextStyle =
            switch report.state {
            case .running: .green
            case .starting, .recovering, .draining: .yellow
            case .stopped, .unreachable: .red
            }
        var title: StyledText = "\("halyardd", .bold)  \(report.state.rawValue, style)"
        if let pid = report.pid { title += "  pid \(pid)" }
        try output.line(title)
        var facts: [(String, StyledText)] = [
            ("version", "\(report.version)"),
            ("database", "\(report.database)"),
        ]
        if let startedAt = report.startedAt { facts.append(("started", TimeText.both(startedAt, now: now))) }
        facts.append(("jobs", report.counts.text))
        if let due = report.nextDueAt { facts.append(("next due", TimeText.both(due, now: now))) }
        if let spool = report.spool, spool.files > 0 { facts.append(("spool", text(of: spool))) }
        try output.table(.facts(facts))
        if !report.queues.isEmpty {
            try output.line("")
            try output.table(QueueTable.table(report.queues, now: now))
        }
        for problem in report.problems {
            try output.line("\("problem", .red): \(problem)")
        }
    }

    private static func text(of spool: SpoolReport) -> StyledText {
        let all =
            "\(AmountText.count(spool.files, "file")), \(AmountText.bytes(spool.bytes)) of \(AmountText.bytes(spool.maxBytes))"
        if spool.keptFiles == 0 { return "\(all)" }
        return
            "\(all); \(AmountText.count(spool.keptFiles, "file")) (\(AmountText.bytes(spool.keptBytes))) kept for jobs that failed, were cancelled or were skipped, until those are pruned"
    }
}
