import Jobs

/// Formats the requests of an attempt, one line for each.
enum ConnectionTable {
    /// The title, with the total number of requests if some are left out.
    static func title(_ attempt: AttemptRecord, _ connections: [ConnectionRecord]) -> StyledText {
        let total = connections.last?.number ?? 0
        let kept = total > connections.count ? ", \(connections.count) of \(total)" : ""
        return "\("connections of attempt \(attempt.lease.attempt)\(kept)", .bold)"
    }

    static func table(_ connections: [ConnectionRecord]) -> Table {
        Table(
            connections,
            [
                .init("", .right) { "\($0.number)" }, .init { "\($0.method)" }, .init(shrinks: true) { "\($0.origin)" },
                .init { "\($0.address)" }, .init(cell: ending),
                .init("", .right) { $0.totalMs.map { "\(TimeText.duration(.milliseconds($0)))" } ?? "" },
                .init(shrinks: true) { StyledText(details($0), .dim) },
            ])
    }

    /// A failure after the response began is more informative than the status.
    private static func ending(_ connection: ConnectionRecord) -> StyledText {
        if let error = connection.error { return StyledText(error, .red) }
        return connection.status.map { "\($0)" } ?? "no answer"
    }

    private static func details(_ connection: ConnectionRecord) -> String {
        [
            connection.protocolName, connection.tls.map { "TLS \($0)" },
            connection.isReused == true ? "reused" : nil, connection.proxy.map { "by \($0)" },
        ].compactMap(\.self).joined(separator: ", ")
    }
}
