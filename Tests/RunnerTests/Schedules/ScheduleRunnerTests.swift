import CalendarEvents
import Jobs
import Logging
import SQLiteStore
import Synchronization
import Testing

@testable import Runner

/// On a real database, with a clock that the test moves.
@Suite struct ScheduleRunnerTests {
    @Test func aTimeFiresOnceAndTheNextOneIsAwaited() async throws {
        try await Bench.with([schedule("minutely", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                #expect(bench.clock.armed == [bench.minute(1)])
                for minute in 1...3 {
                    bench.clock.advance(to: bench.minute(minute))
                    await rounds.next()
                    try await bench.expectJobs(minute)
                    #expect(bench.clock.armed == [bench.minute(minute + 1)])
                }
                let record = try await bench.record()
                #expect(record.lastAt == bench.minute(3))
                #expect(bench.logged("fired").map { $0["HALYARD_JOB"] } == ["1", "2", "3"])
            }
        }
    }

    @Test func aDrainedDaemonFiresNothingUntilItIsResumed() async throws {
        try await Bench.with([schedule("minutely", overlap: .allow)]) { bench in
            bench.isDrained.withLock { $0 = true }
            try await bench.scheduling { rounds in
                bench.clock.advance(to: bench.minute(1))
                await rounds.next()
                try await bench.expectJobs(0)
                // A later look follows, in case no notification arrives.
                #expect(bench.clock.armed == [bench.minute(2)])
                bench.isDrained.withLock { $0 = false }
                bench.clock.advance(to: bench.minute(2))
                await rounds.next()
                try await bench.expectJobs(1)
                #expect(bench.clock.armed == [bench.minute(3)])
            }
        }
    }

    @Test func aLongSleepIsMadeUpForByOne() async throws {
        try await Bench.with([schedule("minutely", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                bench.clock.jump(to: bench.minute(600) + .seconds(7))
                await rounds.next()
                try await bench.expectJobs(1)
                #expect(bench.clock.armed == [bench.minute(601)])
            }
        }
    }

    @Test(arguments: [60, 3600, 86_400, 31_536_000])
    func aClockThatIsSetBackFreezesNothing(_ seconds: Int) async throws {
        try await Bench.with([schedule("minutely", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                bench.clock.advance(to: bench.minute(1))
                await rounds.next()
                let now = bench.minute(1) + .seconds(-seconds)
                bench.clock.jump(to: now)
                await rounds.next()
                // It continues with the new clock's minutes.
                for minute in 1...3 {
                    #expect(bench.clock.armed == [now + .seconds(60 * minute)])
                    bench.clock.advance(to: now + .seconds(60 * minute))
                    await rounds.next()
                    try await bench.expectJobs(minute + 1)
                }
            }
        }
    }

    @Test(arguments: [60, 3600, 36_000])
    func aClockThatIsSetBackDoesNotRepeatTheDay(_ seconds: Int) async throws {
        try await Bench.with([schedule("daily", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                let midnight = try #require(bench.clock.armed.first)
                bench.clock.advance(to: midnight)
                await rounds.next()
                try await bench.expectJobs(1)
                bench.clock.jump(to: midnight + .seconds(-seconds))
                await rounds.next()
                #expect(bench.clock.armed == [midnight + .seconds(86_400)])
            }
            // A restart does not fire it either.
            try await bench.scheduling { _ in
                let next = try #require(bench.clock.armed.first)
                #expect(next > bench.clock.now + .seconds(86_400))
            }
        }
    }

    /// The round that runs meanwhile plans the next time with the clock before.
    @Test func aClockThatIsSetBackDuringATurnFreezesNothing() async throws {
        try await Bench.with([schedule("minutely", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                let now = bench.minute(-1440)
                bench.whilePlanning.withLock { $0 = { bench.clock.jump(to: now) } }
                bench.clock.advance(to: bench.minute(1))
                await rounds.next()
                await rounds.next()
                #expect(bench.clock.armed == [now + .seconds(60)])
                bench.clock.advance(to: now + .seconds(60))
                await rounds.next()
                try await bench.expectJobs(2)
            }
        }
    }

    @Test func aClockThatIsSetBackAndCorrectedRepeatsNothing() async throws {
        try await Bench.with([schedule("minutely", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                bench.clock.advance(to: bench.minute(1))
                await rounds.next()
                bench.clock.jump(to: bench.minute(-525_600))
                await rounds.next()
                #expect(bench.clock.armed == [bench.minute(-525_599)])
                bench.clock.jump(to: bench.minute(1) + .seconds(30))
                await rounds.next()
                #expect(bench.clock.armed == [bench.minute(2)])
                try await bench.expectJobs(1)
                bench.clock.advance(to: bench.minute(2))
                await rounds.next()
                try await bench.expectJobs(2)
            }
        }
    }

    @Test func timesThatNeverEndFireOnceASecond() async throws {
        try await Bench.with([schedule("*:*:0/0.000001", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                bench.clock.advance(to: bench.minute(1))
                await rounds.next()
                let next = bench.minute(1) + .milliseconds(1)
                #expect(bench.clock.armed == [next])
                bench.clock.advance(to: next)
                await rounds.next()
                #expect(bench.clock.armed == [next + .seconds(1)])
                try await bench.expectJobs(2)
            }
        }
    }

    @Test func aSuccessorOfTheSameNameHasItsOwnTimes() async throws {
        try await Bench.with([schedule("hourly", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                #expect(bench.clock.armed == [bench.minute(60)])
                var change = DefinitionChange(schedules: [try schedule("*:0/5", overlap: .allow)])
                change.scheduleRemovals = ["it"]
                try await bench.store.change(change, now: bench.clock.now)
                await rounds.next()
                #expect(bench.clock.armed == [bench.minute(5)])
            }
        }
    }

    @Test func aChangeIsHeardAtOnce() async throws {
        try await Bench.with([schedule("hourly", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                #expect(bench.clock.armed == [bench.minute(60)])
                try await bench.store.change(
                    DefinitionChange(schedules: [schedule("*:0/5", overlap: .allow)]), now: bench.clock.now)
                await rounds.next()
                #expect(bench.clock.armed == [bench.minute(5)])
                _ = try await bench.store.setPaused(true, schedule: "it", now: bench.clock.now)
                await rounds.next()
                #expect(bench.clock.armed == [])
                bench.clock.advance(to: bench.minute(6))
                _ = try await bench.store.setPaused(false, schedule: "it", now: bench.clock.now)
                await rounds.next()
                // What came while it was paused is not made up for.
                #expect(bench.clock.armed == [bench.minute(10)])
                try await bench.expectJobs(0)
            }
        }
    }

    @Test(arguments: [true, false])
    func whatCameWhileNobodyRanIsMadeUpForOnceWherePersistent(isPersistent: Bool) async throws {
        try await Bench.with([schedule("*:0/5", isPersistent: isPersistent, overlap: .allow)]) { bench in
            try await bench.scheduling { _ in }
            bench.clock.advance(to: bench.minute(33))
            try await bench.scheduling { _ in
                try await bench.expectJobs((isPersistent ? 1 : 0))
                #expect(bench.clock.armed == [bench.minute(35)])
                let zone = Zone.utc
                let first = zone.text(bench.minute(5))
                let missed = bench.logged(
                    "missed its times since \(first): no daemon was running, and the schedule is not persistent")
                #expect(missed.count == (isPersistent ? 0 : 1))
                #expect(
                    bench.logged("fired late, once for all its times since \(first)").count
                        == (isPersistent ? 1 : 0))
            }
        }
    }

    @Test func whatIsRefusedMovesOnAndIsToldOnce() async throws {
        try await Bench.with([schedule("minutely", overlap: .allow)]) { bench in
            bench.refusal.withLock { $0 = "There is no such definition." }
            try await bench.scheduling { rounds in
                for minute in 1...2 {
                    bench.clock.advance(to: bench.minute(minute))
                    await rounds.next()
                }
                let record = try await bench.record()
                #expect(record.problem == "There is no such definition.")
                #expect(bench.clock.armed == [bench.minute(3)])
                let levels = bench.log.all.filter { $0.message.contains("could not enqueue") }.map(\.level)
                #expect(levels == [.error, .debug])
                bench.refusal.withLock { $0 = nil }
                bench.clock.advance(to: bench.minute(3))
                await rounds.next()
                let mended = try await bench.record()
                #expect(mended.problem == nil)
            }
        }
    }

    @Test func timesAreLeftOutWhileTheLastJobIsOpenWhichIsToldOnce() async throws {
        try await Bench.with([schedule("minutely")]) { bench in
            try await bench.scheduling { rounds in
                for minute in 1...4 {
                    bench.clock.advance(to: bench.minute(minute))
                    await rounds.next()
                }
                try await bench.expectJobs(1)
                let record = try await bench.record()
                #expect(record.skippedAt == bench.minute(4))
                let levels = bench.log.all.filter { $0.message.contains("skips its times until job 1") }.map(
                    \.level)
                #expect(levels == [.info, .debug, .debug])
            }
        }
    }

    /// What was stored by hand, or a zone that has gone.
    @Test func aScheduleWithoutTimesHarmsNoOther() async throws {
        let lost = Schedule(
            name: "lost", calendar: [try CalendarExpression("daily Nowhere/City")], definition: "scripted")
        try await Bench.with([lost, schedule("minutely", overlap: .allow)]) { bench in
            try await bench.scheduling { rounds in
                bench.clock.advance(to: bench.minute(1))
                await rounds.next()
                try await bench.expectJobs(1)
                let record = try await bench.record("lost")
                #expect(record.nextAt == nil)
                #expect(record.problem?.hasPrefix("It has no times: unknown time zone") == true)
                #expect(bench.log.all.filter { $0.message.contains("unknown time zone \"Nowhere/City\"") }.count == 1)
            }
        }
    }
}

private func schedule(
    _ expression: String, isPersistent: Bool = false, overlap: Schedule.Overlap = .skip
) throws -> Schedule {
    Schedule(
        name: "it", calendar: [try CalendarExpression(expression)], definition: "scripted",
        isPersistent: isPersistent, overlap: overlap)
}

/// A database with schedules, and a schedule runner for it.
private final class Bench: Sendable {
    let harness: RunnerHarness
    let refusal = Mutex<String?>(nil)
    let isDrained = Mutex(false)
    /// Called once, in the middle of a round.
    let whilePlanning = Mutex<(@Sendable () -> Void)?>(nil)
    private let start: Timestamp

    var store: any JobStore { harness.store }
    var clock: ManualClock<Timestamp> { harness.wall }
    var log: LogRecorder { harness.log }

    private init(_ harness: RunnerHarness, start: Timestamp) {
        self.harness = harness
        self.start = start
    }

    static func with(_ schedules: [Schedule], _ use: (Bench) async throws -> Void) async throws {
        try await RunnerHarness.withStore { harness in
            // A full hour, UTC.
            let start = Timestamp(milliseconds: 1_772_409_600_000)
            harness.wall.advance(to: start)
            try await harness.store.change(DefinitionChange(schedules: schedules), now: start)
            try await use(Bench(harness, start: start))
        }
    }

    func minute(_ number: Int) -> Timestamp { start + .seconds(number * 60) }

    func expectJobs(_ count: Int, at location: SourceLocation = #_sourceLocation) async throws {
        let jobs = try await store.jobs(JobFilter())
        #expect(jobs.count == count, sourceLocation: location)
    }

    func record(_ name: String = "it") async throws -> ScheduleRecord {
        try #require(try await store.schedules().first { $0.schedule.name == name })
    }

    /// The entries with this message; every message begins with the schedule's name.
    func logged(_ message: String) -> [Logger.Metadata] {
        log.all.filter { entry in
            guard let name = entry.metadata["HALYARD_SCHEDULE"] else { return false }
            return entry.message == "schedule \(name): \(message)"
        }.map(\.metadata)
    }

    /// Runs a schedule runner next to `use`, which starts after its first round.
    func scheduling(_ use: (Rounds) async throws -> Void) async throws {
        let (stream, told) = AsyncStream.makeStream(of: Void.self)
        let runner = ScheduleRunner(
            store: store, logger: Logger(label: "test") { [log] _ in log.handler() }, zone: .utc, clock: clock,
            onChange: { told.yield() }, isDrained: { [self] in isDrained.withLock(\.self) }
        ) { [self] schedule throws(StoreError) in
            if let happens = whilePlanning.withLock({ $0.take() }) { happens() }
            if let reason = refusal.withLock({ $0 }) { return .refused(reason) }
            guard let job = try? harness.job(schedule.definition) else { return .refused("no such definition") }
            return .enqueue(NewGraph(isGraph: false, jobs: [job]))
        }
        try await runner.prepare()
        let rounds = Rounds(stream)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await runner.run() }
            await rounds.next()
            try await use(rounds)
            group.cancelAll()
        }
    }
}

/// Waits for one round of the runner after another.
private final class Rounds {
    private var iterator: AsyncStream<Void>.Iterator

    init(_ stream: AsyncStream<Void>) { iterator = stream.makeAsyncIterator() }

    func next(isolation: isolated (any Actor)? = #isolation) async { _ = await iterator.next(isolation: isolation) }
}
