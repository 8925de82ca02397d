import Jobs

/// Formats queues, one per line.
enum QueueTable {
    static func table(_ queues: [QueueRecord], now: Timestamp) -> Table {
        func count(_ state: JobState) -> Table.Column<QueueRecord> {
            .init(state.name.uppercased(), .right) { "\(AmountText.grouped($0.counts[state]))" }
        }
        // Most queues have no such limit.
        let perDaemon: [Table.Column<QueueRecord>] =
            queues.contains { $0.settings.limitPerDaemon != nil }
            ? [.init("PER DAEMON", .right) { $0.settings.limitPerDaemon.map { "\($0)" } ?? "" }] : []
        return Table(
            queues,
            [
                .init("QUEUE", shrinks: true) { "\($0.settings.name)" },
                .init("LIMIT", .right) { "\($0.settings.limit)" },
            ] + perDaemon + [
                .init("WEIGHT", .right) { "\($0.settings.weight)" },
                count(.running), count(.ready), count(.scheduled), count(.blocked),
                .init("STATE", shrinks: true) {
                    $0.pausedAt.map { "\("paused", .yellow) \(TimeText.relative($0, to: now))" } ?? "open"
                },
            ])
    }
}
