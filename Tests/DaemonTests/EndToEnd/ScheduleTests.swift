import Programs
import Testing

/// Schedules of a real daemon.
@Suite(.serialized) struct ScheduleTests {
    private func apply(_ schedules: String, _ bed: TestBed) async throws {
        let document = try bed.folder.write("schedules:\n" + schedules, to: "schedules.yaml")
        let applied = try await bed.halyard("definitions", "apply", document)
        try #require(applied.status == .exited(0), "halyard definitions apply: \(applied.errors)")
    }

    /// The daemon is killed between the times; no time is fired for twice, and each start goes on.
    @Test(.timeLimit(.minutes(3)))
    func everySecondFiresOnceThroughKills() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            let tick =
                "{calendar: '*:*:*', definition: visit, overlap: allow, input: {url: '\(bed.server.site)/page/tick'}}"
            try await apply("  tick: \(tick)\n", bed)
            await bed.server.requests.first { $0.hasSuffix("/page/tick") }
            // The status tells when the next one comes.
            #expect(await bed.notifications.heard.first { $0.hasPrefix("STATUS=") && $0.contains(", next ") } != nil)
        }
        for _ in 1...3 {
            try await bed.withDaemon { daemon in
                // Told by the log: a page that was read a moment ago is not asked for again.
                let first = try #require(await daemon.errors.first { $0.contains("schedule tick: fired") })
                await daemon.errors.first(from: first.index + 1) { $0.contains("schedule tick: fired") }
            }
        }
        try await bed.withDaemon { _ in
            let paused = try await bed.halyard("schedules", "pause", "tick")
            #expect(paused.status == .exited(0), "\(paused.errors)")
            try await bed.waitForAllJobs()
            // The next time lies after the moment of the last firing, so one second has one job.
            let times = try await bed.ask("SELECT count(*), count(DISTINCT enqueued_ms / 1000) FROM job").split(
                separator: "|")
            #expect(times.count == 2 && times[0] == times[1], "\(times)")
            #expect(try await bed.ask("SELECT count(*) FROM job WHERE state <> 4") == "0")
            #expect(try await bed.ask("SELECT count(*) FROM schedules WHERE state = 'paused' AND next IS NULL") == "1")
            let last = "SELECT count(*) FROM schedules WHERE last_job = (SELECT max(job) FROM jobs)"
            #expect(try await bed.ask(last) == "1")
        }
    }

    /// What came while no daemon ran.
    @Test(.timeLimit(.minutes(2)))
    func aPersistentScheduleMakesUpForOne() async throws {
        let bed = try TestBed()
        func yearly(_ name: String, isPersistent: Bool) -> String {
            "  \(name): {calendar: yearly, definition: visit-twice, persistent: \(isPersistent), "
                + "input: {url: '\(bed.server.site)/page/\(name)', then: '\(bed.server.site)/page/then'}}\n"
        }
        try await bed.withDaemon { _ in
            try await apply(yearly("kept", isPersistent: true) + yearly("left", isPersistent: false), bed)
            // By hand as well, which counts for neither.
            let run = try await bed.halyard("schedules", "run", "left", "--wait")
            #expect(run.status == .exited(0), "\(run.errors)")
        }
        // Three years go by.
        try await bed.change(
            "UPDATE schedule SET after_ms = after_ms - 94608000000, updated_ms = updated_ms - 94608000000, last_ms = last_ms - 94608000000, next_ms = NULL"
        )
        for round in 1...2 {
            try await bed.withDaemon { daemon in
                await bed.server.requests.first { $0.hasSuffix("/page/kept") }
                try await bed.waitForAllJobs()
                #expect(try await bed.ask("SELECT count(*) FROM graph") == "2")
                let missed = daemon.errors.all.contains { $0.contains("missed its time") && $0.contains("left") }
                #expect(missed == (round == 1))
            }
        }
        let last = try await bed.ask(
            """
            SELECT   schedule, CASE WHEN last IS NOT NULL THEN 1 ELSE 0 END, last_graph, CASE WHEN next > last THEN 1 END
            FROM     schedules
            ORDER BY 1
            """)
        #expect(last == "kept|1|2|1\nleft|0|1|")
    }

    @Test(.timeLimit(.minutes(1)))
    func aWrongScheduleIsRefusedWithItsLine() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            let document = try bed.folder.write(
                "schedules:\n  a: {calendar: '25:00', definition: visit}\n", to: "wrong.yaml")
            let refused = try await bed.halyard("definitions", "apply", document)
            #expect(refused.status == .exited(78))
            #expect(refused.errors.contains("Line 2: schedules.a.calendar"), "\(refused.errors)")
            #expect(refused.errors.contains("expected an hour from 0 to 23"), "\(refused.errors)")
        }
    }
}
