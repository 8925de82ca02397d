import Jobs

/// Formats queues, one per line.
enum QueueTable {
    static func table(_ queues: [QueueRecord], now: Timestamp) -> Table {
        var table = Table([
            .init("QUEUE", shrinks: true), .init("LIMIT", .right), .init("WEIGHT", .right), .init("RUNNING", .right),
            .init("READY", .right), .init("SCHEDULED", .right), .init("BLOCKED", .right), .init("STATE", shrinks: true),
        ])
        table.rows = queues.map { queue in
            let state: StyledText =
                queue.pausedAt.map { "\("paused", .yellow) \(TimeText.relative($0, to: now))" } ?? "open"
            return [
                "\(queue.settings.name)", "\(queue.settings.limit)", "\(queue.settings.weight)",
                "\(AmountText.grouped(queue.counts[.running]))", "\(AmountText.grouped(queue.counts[.ready]))",
                "\(AmountText.grouped(queue.counts[.scheduled]))", "\(AmountText.grouped(queue.counts[.blocked]))",
                state,
            ]
        }
        return table
    }
}
