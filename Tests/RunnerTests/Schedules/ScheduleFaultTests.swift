import CalendarEvents
import Jobs
import Logging
import SQLiteStore
import Testing

@testable import Runner

/// Schedules of a store on another machine, whose clock differs and whose answers may be lost.
@Suite(.timeLimit(.minutes(1))) struct ScheduleFaultTests {
    private let start = Timestamp(milliseconds: 1_772_409_600_000)

    private func minute(_ number: Int) -> Timestamp { start + .seconds(number * 60) }

    /// Runs a minutely schedule on a store behind a connection. `use` starts after the first round.
    private func scheduling(
        aheadBy offset: Duration = .zero, _ use: (CutOffStore, RunnerHarness, AsyncStream<Void>) async throws -> Void
    ) async throws {
        try await RunnerHarness.withStore { harness in
            harness.wall.advance(to: start + (.zero - offset))
            let schedule = Schedule(
                name: "it", calendar: [try CalendarExpression("minutely")], definition: "scripted", overlap: .allow)
            try await harness.store.change(DefinitionChange(schedules: [schedule]), now: start)
            let store = CutOffStore(harness.store, ManualClock(.zero))
            store.setClock(aheadBy: offset)
            let (rounds, told) = AsyncStream.makeStream(of: Void.self)
            let runner = ScheduleRunner(
                store: store, logger: Logger(label: "test") { _ in harness.log.handler() }, zone: .utc,
                clock: harness.wall, onChange: { told.yield() }
            ) { schedule throws(StoreError) in
                guard let job = try? harness.job(schedule.definition) else { return .refused("no such definition") }
                return .enqueue(NewGraph(isGraph: false, jobs: [job]))
            }
            try await runner.prepare()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await runner.run() }
                _ = await rounds.first { _ in true }
                try await use(store, harness, rounds)
                group.cancelAll()
            }
        }
    }

    @Test func aFiringWhoseAnswerWasLostIsNotRepeated() async throws {
        try await scheduling { store, harness, rounds in
            store.loseNextFiring()
            harness.wall.advance(to: minute(1))
            // The runner does not end. It looks again after a pause.
            let again = minute(1) + .seconds(5)
            while harness.wall.armed != [again] { await Task.yield() }
            harness.wall.advance(to: again)
            _ = await rounds.first { _ in true }
            let jobs = try await harness.store.jobs(JobFilter())
            #expect(jobs.count == 1)
            #expect(harness.wall.armed == [minute(2)])
        }
    }

    @Test func theStoresClockDecidesWhenAScheduleFires() async throws {
        let hour = Duration.seconds(3600)
        try await scheduling(aheadBy: hour) { _, harness, rounds in
            let local = minute(1) + .seconds(-3600)
            #expect(harness.wall.armed == [local])
            harness.wall.advance(to: local)
            _ = await rounds.first { _ in true }
            let jobs = try await harness.store.jobs(JobFilter())
            #expect(jobs.count == 1)
            let lastAt = try await harness.store.schedules().first?.lastAt
            #expect(lastAt == minute(1))
            #expect(harness.wall.armed == [local + .seconds(60)])
        }
    }
}
