import CalendarEvents
import ControlProtocol
import Jobs

/// Formats schedules for people.
enum ScheduleText {
    static func table(_ records: [ScheduleRecord], now: Timestamp) -> Table {
        func relative(_ moment: Timestamp?) -> StyledText {
            "\(moment.map { TimeText.relative($0, to: now) } ?? "-")"
        }
        return Table(
            records,
            [
                .init("SCHEDULE", shrinks: true) { "\($0.schedule.name)" }, .init("NEXT") { relative($0.nextAt) },
                .init("LAST") { relative($0.lastAt) }, .init("RUNS", shrinks: true) { "\($0.schedule.definition)" },
                .init("CALENDAR", shrinks: true) {
                    "\($0.schedule.calendar.map(\.description).joined(separator: "; "))"
                },
                .init("STATE", shrinks: true) { state($0, now: now) },
            ])
    }

    private static func state(_ record: ScheduleRecord, now: Timestamp) -> StyledText {
        if let problem = record.problem { return "\("refused: \(problem)", .red)" }
        if let pausedAt = record.pausedAt { return "\("paused", .yellow) \(TimeText.relative(pausedAt, to: now))" }
        return record.nextAt == nil ? "\("never again", .yellow)" : "active"
    }

    static func write(_ record: ScheduleRecord, zone: Zone, now: Timestamp, to output: Output) throws {
        let schedule = record.schedule
        try output.line("\("schedule", .bold) \(schedule.name, .bold)  \(state(record, now: now))")
        if let summary = schedule.summary { try output.line("  \(summary)") }
        func time(_ moment: Timestamp?) -> StyledText? { moment.map { local($0, in: zone, now: now) } }
        let missed: StyledText =
            schedule.isPersistent
            ? "fires once for all missed times (persistent)"
            : "skipped if missed by more than a minute (not persistent)"
        let overlap: StyledText =
            schedule.overlap == .skip ? "a time is skipped while the previous jobs are not final" : "allowed"
        let lastGraph: StyledText? = record.lastGraph.map { graph in
            "\(graph), from job \(record.lastJob.map { "\($0)" } ?? "?")"
        }
        let lastJob: StyledText? = record.lastGraph == nil ? record.lastJob.map { "\($0)" } : nil
        let calendar = schedule.calendar.map { (name: "calendar", value: Optional("\($0.description)" as StyledText)) }
        try output.table(
            .facts(
                [
                    ("runs", "\(schedule.definition)"), ("input", schedule.input.map { "\($0.string)" }),
                    ("queue", schedule.queue.map { "\($0)" }), ("priority", schedule.priority.map { "\($0.name)" }),
                ] + calendar + [
                    ("missed", missed), ("overlap", overlap), ("last time", time(record.lastAt)),
                    ("last graph", lastGraph), ("last job", lastJob), ("left out", time(record.skippedAt)),
                    ("updated", TimeText.both(record.updatedAt, now: now)),
                ]))
        guard let nextAt = record.nextAt else { return }
        try output.line("\("next times", .bold)")
        try output.line("  \(local(nextAt, in: zone, now: now))")
        let times = try? schedule.times(local: zone)  // This machine may lack the time zone.
        for moment in times.map({ moments(of: $0, after: nextAt, count: 4) }) ?? [] {
            try output.line("  \(local(moment, in: zone, now: now))")
        }
    }

    /// `Mon 2026-11-23 09:00:00 CET (in 2d)`
    static func local(_ moment: Timestamp, in zone: Zone, now: Timestamp) -> StyledText {
        "\(zone.text(moment)) \("(\(TimeText.relative(moment, to: now)))", .dim)"
    }

    static func moments(of times: CalendarTimes, after moment: Timestamp, count: Int) -> [Timestamp] {
        var moments: [Timestamp] = []
        while moments.count < count, let next = times.next(after: moments.last ?? moment) { moments.append(next) }
        return moments
    }
}
