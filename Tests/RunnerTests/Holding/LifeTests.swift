import Jobs
import OperationTypes
import SQLiteStore
import Testing

@testable import Runner

/// A runner whose store has lives with a length, behind a connection that fails.
@Suite struct LifeTests {
    private static let second = Lease(job: JobID(1), attempt: 2)

    private func waiting(at gate: Gate) -> Scripted.Body {
        { input, job throws(TestFailure) in
            if await gate.wait(job) { return input }
            throw TestFailure(code: "stopped")
        }
    }

    /// Waits for something that another task does at once.
    private func wait(until isTrue: () async throws -> Bool) async rethrows {
        while try await !isTrue() { await Task.yield() }
    }

    @Test(.timeLimit(.minutes(1))) func aLapsedLifeStopsItsAttemptsAndTheNextRunsTheirJobs() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            let life = ManualClock(Duration.seconds(5000))
            let store = CutOffStore(harness.store, life)
            let job = try await harness.enqueue([harness.job()])
            try await harness.running(harness.runner(on: store, lifeClock: life)) { runner in
                _ = await gate.arrived()
                store.cut()
                life.advance(by: .seconds(21))
                #expect(!runner.snapshot.hasLapsed)
                life.advance(by: .seconds(1))
                #expect(runner.snapshot.hasLapsed)
                // The attempt heeds the request to stop, and the runner tries in vain to begin a life.
                await wait { store.refusedBegins > 0 && !life.armed.isEmpty }
                #expect(try await harness.store.attempts(of: job[0]).isEmpty)
                store.mend()
                life.advance(by: .seconds(5))
                #expect(await gate.arrived() == [Self.second])
                #expect(!runner.snapshot.hasLapsed)
                gate.open()
                try await harness.wait(runner, for: job)
            }
            let attempts = try await harness.store.attempts(of: job[0])
            #expect(attempts.map(\.outcome) == [.interrupted, .succeeded])
            #expect(attempts.first?.error?.message.contains("lost its lease") == true)
            #expect(try await harness.store.job(job[0])?.tries == 1)
            #expect(store.begun.count == 2)
            // The runner said goodbye.
            #expect(try await harness.store.holders().last?.endedAt != nil)
        }
    }

    @Test(.timeLimit(.minutes(1))) func aRenewedLifeKeepsItsAttempts() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            let life = ManualClock(Duration.seconds(5000))
            let store = CutOffStore(harness.store, life)
            let job = try await harness.enqueue([harness.job()])
            try await harness.running(harness.runner(on: store, lifeClock: life)) { runner in
                _ = await gate.arrived()
                for renewal in 1...12 {
                    let next = life.now + .seconds(10)
                    await wait { life.armed.contains(next) }
                    life.advance(to: next)
                    await wait { store.renewals == renewal }
                }
                gate.open()
                try await harness.wait(runner, for: job)
            }
            #expect(try await harness.store.attempts(of: job[0]).map(\.outcome) == [.succeeded])
        }
    }

    /// The daemon registers its kinds under the number of the life, before the runner runs.
    @Test(.timeLimit(.minutes(1))) func aLifeThatBeganBeforeTheRunIsRenewed() async throws {
        try await RunnerHarness.withStore { harness in
            let life = ManualClock(Duration.seconds(5000))
            let store = CutOffStore(harness.store, life)
            let runner = harness.runner(on: store, lifeClock: life)
            try await runner.begin()
            let next = life.now + .seconds(10)
            try await harness.running(runner) { _ in
                await wait { life.armed.contains(next) }
                life.advance(to: next)
                await wait { store.renewals == 1 }
            }
            #expect(store.begun.count == 1)
        }
    }

    @Test(.timeLimit(.minutes(1))) func workThatEndedBeforeALapseIsRecordedAfterIt() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            let life = ManualClock(Duration.seconds(5000))
            let store = CutOffStore(harness.store, life)
            let job = try await harness.enqueue([harness.job()])
            try await harness.running(harness.runner(on: store, lifeClock: life, uptimeClock: SystemUptimeClock())) {
                runner in
                _ = await gate.arrived()
                store.cut()
                gate.open()
                await wait { runner.snapshot.unrecorded == 1 }
                life.advance(by: .seconds(60))
                #expect(runner.snapshot.hasLapsed)
                store.mend()
                try await harness.wait(runner, for: job)
                await wait { !runner.snapshot.hasLapsed }
            }
            #expect(try await harness.store.attempts(of: job[0]).map(\.outcome) == [.succeeded])
            #expect(store.begun.count == 2)
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func aLostAnswerToAClaimIsFoundAgain(_ isStored: Bool) async throws {
        try await RunnerHarness.withStore { harness in
            let life = ManualClock(Duration.seconds(5000))
            let store = CutOffStore(harness.store, life)
            try await harness.running(harness.runner(on: store, lifeClock: life, uptimeClock: SystemUptimeClock())) {
                runner in
                if isStored { store.loseNextAnswer() } else { store.loseNextRequest() }
                let jobs = try await harness.enqueue((0..<5).map { _ in try harness.job() })
                try await harness.wait(runner, for: jobs)
                for job in jobs {
                    #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.succeeded])
                }
            }
            #expect(try await harness.store.counts()[.running] == 0)
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func aLostAnswerToAnEndIsFoundAgain(_ isStored: Bool) async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            let life = ManualClock(Duration.seconds(5000))
            let store = CutOffStore(harness.store, life)
            try await harness.running(harness.runner(on: store, lifeClock: life, uptimeClock: SystemUptimeClock())) {
                runner in
                let jobs = try await harness.enqueue([harness.job(), harness.job()])
                _ = await gate.arrived(2)
                if isStored { store.loseNextAnswer() } else { store.loseNextRequest() }
                gate.open()
                try await harness.wait(runner, for: jobs)
                await wait { runner.snapshot.unrecorded == 0 && !runner.snapshot.awaitsStore }
                for job in jobs {
                    #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.succeeded])
                }
            }
            // An end whose answer was lost is logged as recorded, not as one whose lease was lost.
            #expect(!harness.log.all.contains { $0.message.contains("lost its lease") })
        }
    }
}
