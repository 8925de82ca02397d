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
        func time(_ moment: Timestamp?) -> StyledText? { moment.map { TimeText.both($0, now: now) } }
        try output.table(
            .facts([
                ("version", "\(report.version)"), ("database", "\(report.database)"),
                ("started", time(report.startedAt)), ("jobs", report.counts.text), ("next due", time(report.nextDueAt)),
                ("spool", report.spool.flatMap { $0.files > 0 ? text(of: $0) : nil }),
            ]))
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
