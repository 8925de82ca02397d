import ControlProtocol
import Jobs

/// Formats worker programs, one per line, and their processes.
enum WorkerTable {
    static func table(_ workers: [WorkerRecord]) -> Table {
        Table(
            workers,
            [
                .init("WORKER", shrinks: true) { "\($0.name)" },
                .init("PROCESSES", .right) { worker in
                    let probes = worker.processes.count(where: \.isProbe)
                    let more = probes == 0 ? "" : " + \(AmountText.count(probes, "probe"))"
                    return "\(worker.processes.count - probes) of \(worker.processLimit)\(more)"
                },
                .init("ATTEMPTS", .right) { worker in
                    let running = worker.processes.reduce(worker.waiting) { $0 + $1.attempts }
                    return "\(running) of \(worker.processLimit * worker.attemptLimit)"
                },
                .init("CRASHES SINCE START", .right) { "\(AmountText.grouped(Int64($0.crashes)))" },
                .init("STATE") { state(of: $0) },
                .init("KINDS", shrinks: true) { "\($0.kinds.joined(separator: ", "))" },
            ])
    }

    private static func state(of worker: WorkerRecord) -> StyledText {
        switch worker.state {
        case .idle: "idle"
        case .running: "\("running", .green)"
        case .checking: "\("starting for a reload", .yellow)"
        case .starting: "\("starting again", .yellow)"
        case .resting: "\("rests", .red)"
        case .barred: "\("may not run its kinds", .red)"
        case .removed: "removed, finishes its jobs"
        }
    }

    /// The processes of all workers; nil if there are none.
    static func processes(_ workers: [WorkerRecord], now: Timestamp) -> Table? {
        struct Row {
            var worker: WorkerRecord
            var process: WorkerRecord.Process
        }
        let rows = workers.flatMap { worker in worker.processes.map { Row(worker: worker, process: $0) } }
        if rows.isEmpty { return nil }
        return Table(
            rows,
            [
                .init("PID", .right) { row in StyledText(row.process.pid.map { "\($0)" } ?? "") },
                .init("WORKER", shrinks: true) { "\($0.worker.name)" },
                .init("STARTED") { "\(TimeText.relative($0.process.startedAt, to: now))" },
                .init("ATTEMPTS", .right) { row in
                    "\(row.process.attempts) of \(row.process.isProbe ? 1 : row.worker.attemptLimit)"
                },
                .init("STATE") { "\($0.process.state.rawValue)" },
                .init { StyledText($0.process.isProbe ? "probe: runs jobs of a crash, one at a time" : "") },
            ])
    }
}
