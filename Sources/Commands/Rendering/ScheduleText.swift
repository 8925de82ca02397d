import CalendarEvents
import ControlProtocol
import Jobs

/// Formats schedules for people.
enum ScheduleText {
    static func table(_ records: [ScheduleRecord], now: Timestamp) -> Table {
        var table = Table([
            .init("SCHEDULE", shrinks: true), .init("NEXT"), .init("LAST"), .init("RUNS", shrinks: true),
            .init("CALENDAR", shrinks: true), .init("STATE", shrinks: true),
        ])
        table.rows = records.map { record in
            let calendar = record.schedule.calendar.map(\.description).joined(separator: "; ")
            return [
                "\(record.schedule.name)", "\(record.nextAt.map { TimeText.relative($0, to: now) } ?? "-")",
                "\(record.lastAt.map { TimeText.relative($0, to: now) } ?? "-")", "\(record.schedule.definition)",
                "\(calendar)", state(record, now: now),
            ]
        }
        return table
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
        var facts: [(String, StyledText)] = [("runs", "\(schedule.definition)")]
        if let input = schedule.input { facts.append(("input", "\(input.string)")) }
        if let queue = schedule.queue { facts.append(("queue", "\(queue)")) }
        if let priority = schedule.priority { facts.append(("priority", "\(priority.name)")) }
        for expression in schedule.calendar { facts.append(("calendar", "\(expression.description)")) }
        facts.append(
            (
                "missed",
                schedule.isPersistent
                    ? "fires once for all missed times (persistent)"
                    : "skipped if missed by more than a minute (not persistent)"
            ))
        facts.append(
            (
                "overlap",
                schedule.overlap == .skip ? "a time is skipped while the previous jobs are not final" : "allowed"
            ))
        if let lastAt = record.lastAt { facts.append(("last time", local(lastAt, in: zone, now: now))) }
        if let graph = record.lastGraph {
            facts.append(("last graph", "\(graph), from job \(record.lastJob.map { "\($0)" } ?? "?")"))
        } else if let job = record.lastJob {
            facts.append(("last job", "\(job)"))
        }
        if let skippedAt = record.skippedAt { facts.append(("left out", local(skippedAt, in: zone, now: now))) }
        facts.append(("updated", TimeText.both(record.updatedAt, now: now)))
        try output.table(.facts(facts))
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
