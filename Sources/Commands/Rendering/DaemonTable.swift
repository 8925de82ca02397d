import ControlProtocol
import Jobs

/// Formats daemons, one per line.
enum DaemonTable {
    static func table(_ daemons: [DaemonRecord], now: Timestamp) -> Table {
        Table(
            daemons,
            [
                .init("DAEMON", shrinks: true) { "\($0.name)" },
                .init("HOST", shrinks: true) { "\($0.host)" },
                .init("VERSION") { "\($0.version)" },
                .init("STATE") { daemon in
                    if daemon.state == .running, daemon.drainedAt != nil { return "\("drained", .yellow)" }
                    if daemon.state == .running { return "\("running", .green)" }
                    return "ended \(TimeText.relative(daemon.endedAt ?? daemon.seenAt, to: now))"
                },
                .init("RUNNING", .right) { "\(AmountText.grouped(Int64($0.running)))" },
                .init("SEEN") { "\(TimeText.relative($0.seenAt, to: now))" },
                .init("QUEUES", shrinks: true) { "\($0.queues?.joined(separator: ", ") ?? "all")" },
                .init("KINDS", shrinks: true) { "\($0.kinds.joined(separator: ", "))" },
            ])
    }
}
