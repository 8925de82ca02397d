import Jobs

/// Formats jobs, one per line.
enum JobTable {
    static func table(_ jobs: [JobRecord], now: Timestamp) -> Table {
        Table(
            jobs,
            [
                .init("JOB", .right) { "\($0.id)" }, .init("STATE") { $0.state.text },
                .init("DEFINITION", shrinks: true) { "\($0.definition)" },
                .init("NODE", shrinks: true) { "\($0.node ?? "")" },
                .init("GRAPH", .right) { "\($0.graph.map(\.description) ?? "")" },
                .init("QUEUE", shrinks: true) { "\($0.queue)" }, .init("PRIORITY") { "\($0.priority.name)" },
                .init("TRIES", .right) { "\($0.tries)/\($0.maxTries)" },
                .init("WHEN", shrinks: true) { when($0, now: now) },
            ])
    }

    /// Returns the time that matters in the job's state: how long it runs, when it is due, or when it ended.
    static func when(_ job: JobRecord, now: Timestamp) -> StyledText {
        switch job.state {
        case .blocked:
            return "after \(AmountText.count(job.pendingDependencies, "job"))"
        case .scheduled:
            return job.dueAt.map { "due \(TimeText.relative($0, to: now))" } ?? StyledText()
        case .ready:
            return job.dueAt.map { "for \(TimeText.coarse(now - $0))" } ?? StyledText()
        case .running:
            let since: StyledText = job.startedAt.map { "for \(TimeText.duration(now - $0))" } ?? StyledText()
            return job.cancelRequestedAt == nil ? since : since + ", \("cancelling", .yellow)"
        case .succeeded, .failed, .cancelled, .skipped:
            guard let finishedAt = job.finishedAt else { return StyledText() }
            let ended: StyledText = "\(TimeText.relative(finishedAt, to: now))"
            guard let startedAt = job.startedAt, startedAt <= finishedAt else { return ended }
            return ended + ", took \(TimeText.duration(finishedAt - startedAt))"
        }
    }
}
