import Jobs

/// Formats jobs, one per line.
enum JobTable {
    static func table(_ jobs: [JobRecord], now: Timestamp) -> Table {
        var table = Table([
            .init("JOB", .right), .init("STATE"), .init("DEFINITION", shrinks: true), .init("NODE", shrinks: true),
            .init("GRAPH", .right), .init("QUEUE", shrinks: true), .init("PRIORITY"), .init("TRIES", .right),
            .init("WHEN", shrinks: true),
        ])
        table.rows = jobs.map { job in
            [
                "\(job.id)", job.state.text, "\(job.definition)", "\(job.node ?? "")",
                "\(job.graph.map(\.description) ?? "")", "\(job.queue)", "\(job.priority.name)",
                "\(job.tries)/\(job.maxTries)", when(job, now: now),
            ]
        }
        return table
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
