import Programs
import Testing

/// The real daemon while somebody sets its wall clock (P8).
@Suite(.serialized) struct SetClockTests {
    private let bed: TestBed
    private let clock: SetClock
    private let steady = ContinuousClock()

    init() async throws {
        bed = try TestBed()
        try bed.folder.write(
            """
            definitions:
              visit: {kind: unfurl, input: {read_page: false}}
              again: {kind: unfurl, retry: {tries: 2, delay: constant, initial: 3s}, input: {read_page: false}}
            schedules:
              tick: {calendar: '*:*:*', definition: visit, overlap: allow, input: {url: '\(bed.server.site)/page/tick'}}
            """, to: "definitions.yaml")
        clock = try await SetClock(in: bed.folder.path)
    }

    private func asked(_ path: String, from: Int = 0) async throws -> Int {
        try #require(await bed.server.requests.first(from: from) { $0.hasSuffix(path) }).index
    }

    /// - Parameter start: Before the wait began. The clock was set back by a minute or more, so that a wait that takes
    ///   part in that lasts longer than this.
    private func expectThreeSeconds(since start: ContinuousClock.Instant) {
        let waited = start.duration(to: steady.now)
        #expect(waited >= .seconds(3) && waited < .seconds(60), "waited \(waited)")
    }

    private func moment(secondsFromNow seconds: Int64) async throws -> String {
        try await bed.ask("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '\(seconds) seconds')")
    }

    @Test(.timeLimit(.minutes(5)), arguments: [60, 3600, 86_400] as [Int64])
    func aClockThatIsSetBackFreezesNothing(seconds: Int64) async throws {
        let failing = "/status/503/again"
        var start = steady.now
        try await bed.withDaemon(environment: clock.environment) { daemon in
            try await bed.enqueue("again", bed.server.site + failing)
            try await bed.enqueue("visit", bed.server.site + "/page/waited", "--in", "3s")
            let dueAt = try await moment(secondsFromNow: 300)
            try await bed.enqueue("visit", bed.server.site + "/page/calendar", "--at", dueAt)
            let first = try await asked(failing)
            // The turn that fires it goes on while the clock is set.
            let fired = try #require(await daemon.errors.first(containing: "schedule tick: fired"))
            try clock.set(secondsFromNow: -seconds)

            _ = try await asked("/page/waited")
            expectThreeSeconds(since: start)
            _ = try await asked(failing, from: first + 1)
            expectThreeSeconds(since: start)
            // It continues with the new clock's seconds.
            var last = fired.index
            for _ in 1...3 {
                last = try #require(
                    await daemon.errors.first(from: last + 1, containing: "schedule tick: fired")
                ).index
            }
            #expect(!bed.server.requests.all.contains { $0.hasSuffix("/page/calendar") })

            start = steady.now
            try await bed.enqueue("visit", bed.server.site + "/page/restarted", "--in", "3s")
        }
        // Set back once more while no daemon runs.
        try clock.set(secondsFromNow: -2 * seconds)
        try await bed.withDaemon(environment: clock.environment) { _ in
            _ = try await asked("/page/restarted")
            expectThreeSeconds(since: start)
            // The clock reaches the moment of the calendar when it is set forward.
            #expect(!bed.server.requests.all.contains { $0.hasSuffix("/page/calendar") })
            try clock.set(secondsFromNow: 301)
            _ = try await asked("/page/calendar")
        }
    }
}
