import Programs
import Testing

/// The real daemon while somebody sets the wall clock (P8).
@Suite(.serialized) struct SetClockTests {
    /// Ten minutes, an hour, a day: longer than the test may take, so that a wait that froze fails it.
    @Test(.timeLimit(.minutes(5)), arguments: [600, 3600, 86400])
    func aClockThatIsSetBackFreezesNothing(seconds: Int64) async throws {
        let bed = try TestBed()
        try bed.folder.write(
            """
            definitions:
              visit: {kind: unfurl, input: {read_page: false}}
              again: {kind: unfurl, retry: {attempts: 2, delay: constant, initial: 3s}, input: {read_page: false}}
            schedules:
              tick: {calendar: '*:*:*', definition: visit, overlap: allow, input: {url: '\(bed.server.site)/page/tick'}}
            """, to: "definitions.yaml")
        let clock = try await SetClock(in: bed.folder.path)
        func asked(_ path: String, from: Int = 0) async -> Int? {
            await bed.server.requests.first(from: from) { $0.hasSuffix(path) }?.index
        }
        try await bed.withDaemon(environment: clock.environment) { daemon in
            let failed = "/status/503/again"
            try await bed.enqueue("again", bed.server.site + failed)
            try await bed.enqueue("visit", bed.server.site + "/page/waited", "--in", "3s")
            let first = try #require(await asked(failed))
            await daemon.errors.first(containing: "schedule tick: fired")
            try clock.set(secondsFromNow: -seconds)
            let heard = daemon.errors.all.count

            #expect(await asked("/page/waited") != nil)
            #expect(await asked(failed, from: first + 1) != nil)
            // A moment of the calendar follows the calendar: the next second of the new time.
            let fired = await daemon.errors.first(from: heard, containing: "schedule tick: fired")
            #expect(await daemon.errors.first(from: (fired?.index ?? 0) + 1, containing: "schedule tick: fired") != nil)

            try await bed.enqueue("visit", bed.server.site + "/page/restarted", "--in", "3s")
        }
        // Set back once more while no daemon runs.
        try clock.set(secondsFromNow: -2 * seconds)
        try await bed.withDaemon(environment: clock.environment) { _ in
            #expect(await asked("/page/restarted") != nil)
        }
    }
}
