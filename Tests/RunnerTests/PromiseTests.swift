import Jobs
import Logging
import OperationTypes
import SQLiteStore
import Synchronization
import Testing

@testable import Runner

/// The promises of the design, by their numbers, on a real database.
@Suite struct PromiseTests {
    @Test func p2EveryJobReachesExactlyOneOutcome() async throws {
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            if input.string == #""fails""# { throw TestFailure() }
            return input
        }) { harness in
            let jobs = try await harness.enqueue([
                harness.job(input: #""fine""#), harness.job(input: #""fails""#),
                harness.job(after: [NewDependency(on: .new(1))]),
                harness.job(after: [NewDependency(on: .new(1), condition: .finished)]),
                harness.job(dueAt: harness.wall.now + .seconds(3600)),
            ])
            try await harness.running { runner in
                #expect(try await harness.store.cancel([jobs[4]], now: harness.wall.now) == [.cancelled])
                try await harness.wait(runner, for: jobs)
            }
            var states: [JobState?] = []
            var results: [Outcome?] = []
            for job in jobs {
                states.append(try await harness.store.job(job)?.state)
                results.append(try await harness.store.result(of: job)?.outcome)
            }
            #expect(states == [.succeeded, .failed, .skipped, .succeeded, .cancelled])
            #expect(results == [.succeeded, .failed, .skipped, .succeeded, .cancelled])
        }
    }

    @Test func p3AttemptThatLostItsLeaseChangesNothing() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { _, job throws(TestFailure) in
            if job.lease.attempt == 1 { await gate.waitStubbornly(job) }
            return JSONText(trusted: Array("\(job.lease.attempt)".utf8))
        }) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                // As another machine would that takes the job over. The runner's own life has ended.
                _ = try await harness.store.rescueOrphans(maxRescues: 3, now: harness.wall.now)
                let claim = ClaimRequest(slots: 1)
                let taken = try await harness.store.exchange([], claim: claim, now: harness.wall.now).claimed
                #expect(taken.map(\.lease) == [Lease(job: job, attempt: 2)])
                let end = AttemptEnd(
                    lease: Lease(job: job, attempt: 2), ending: .succeeded(JSONText(trusted: Array("2".utf8))))
                _ = try await harness.store.exchange([end], claim: nil, now: harness.wall.now)
                try await harness.wait(runner, for: job)
                gate.open()
                #expect(await runner.proveProgress())
                await harness.log.wait {
                    $0.hasSuffix("attempt 1 ended after it had lost its lease; its result is discarded")
                }
                #expect(try await harness.output(job) == "2")
            }
        }
    }

    @Test func p4DependentFindsTheStoredResultOfItsDependency() async throws {
        let store = Mutex<(any JobStore)?>(nil)
        let seen = Mutex<[Outcome?]>([])
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            guard input.string == #""second""#, let store = store.withLock({ $0 }) else { return input }
            do throws(StoreError) {
                let result = try await store.result(of: JobID(job.lease.job.rawValue - 1))
                seen.withLock { $0.append(result?.outcome) }
            } catch {
                throw TestFailure(code: "store")
            }
            return input
        }) { harness in
            store.withLock { $0 = harness.store }
            try await harness.running { runner in
                let jobs = try await harness.enqueue([
                    harness.job(input: #""first""#),
                    harness.job(input: #""second""#, after: [NewDependency(on: .new(0))]),
                ])
                try await harness.wait(runner, for: jobs)
            }
            #expect(seen.withLock { $0 } == [.succeeded])
        }
    }

    @Test func p4ChildrenAreThereWithTheSuccessAndOnlyThen() async throws {
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            if input.string == #""child""# { return input }
            job.enqueue(ChildJob(definition: "scripted", input: JSONText(trusted: Array(#""child""#.utf8))))
            if input.string == #""fails""# { throw TestFailure() }
            return input
        }) { harness in
            try await harness.running { runner in
                let fails = try await harness.enqueue(harness.job(input: #""fails""#))
                let works = try await harness.enqueue(harness.job(input: #""works""#))
                try await harness.wait(runner, for: [fails, works])
                let children = try await harness.store.jobs(JobFilter(after: works, order: .oldestFirst))
                #expect(children.map(\.input?.string) == [#""child""#])
                try await harness.wait(runner, for: children.map(\.id))
            }
        }
    }

    @Test func p5JobOfACrashedDaemonRunsAgainAndHasOneResult() async throws {
        try await RunnerHarness.withStore(run: { _, job throws(TestFailure) in
            JSONText(trusted: Array("\(job.lease.attempt)".utf8))
        }) { harness in
            let job = try await harness.enqueue(harness.job())
            // A process that claims and dies.
            let claimed = try await harness.store.exchange([], claim: ClaimRequest(slots: 1), now: harness.wall.now)
            #expect(claimed.claimed.map(\.lease) == [Lease(job: job, attempt: 1)])
            try await harness.running { runner in try await harness.wait(runner, for: job) }
            #expect(try await harness.output(job) == "2")
            #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.crashed, .succeeded])
            #expect(try await harness.store.job(job)?.tries == 1)
        }
    }

    @Test func p6OrphansRunAtOnceWithoutAnyTimePassing() async throws {
        try await RunnerHarness.withStore { harness in
            let jobs = try await harness.enqueue([harness.job(), harness.job()])
            _ = try await harness.store.exchange([], claim: ClaimRequest(slots: 2), now: harness.wall.now)
            try await harness.running { runner in try await harness.wait(runner, for: jobs) }
            #expect(harness.log.all.contains { $0.metadata["HALYARD_COUNT"] == "2" })
        }
    }

    @Test func p6JobThatKeepsCrashingTheDaemonIsFailed() async throws {
        try await RunnerHarness.withStore { harness in
            let job = try await harness.enqueue(harness.job())
            for _ in 1...4 {
                _ = try await harness.store.exchange([], claim: ClaimRequest(slots: 1), now: harness.wall.now)
                _ = try await harness.store.rescueOrphans(
                    maxRescues: 3, after: .crashed(cause: "SIGSEGV"), now: harness.wall.now)
            }
            try await harness.running { _ in }
            #expect(try await harness.failure(job)?.code == "crashed")
        }
    }

    @Test func p7InterruptedAttemptUsesUpNoTry() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            if await gate.wait(job) { return input }
            throw TestFailure(code: "stopped")
        }) { harness in
            let job = try await harness.enqueue(harness.job())
            try await harness.running { runner in
                _ = await gate.arrived()
                runner.interrupt()
                await runner.drain(limit: .seconds(3600))
            }
            let record = try #require(try await harness.store.job(job))
            #expect(record.state == .ready)
            #expect(record.tries == 0)
            #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.interrupted])
            gate.open()
            try await harness.running { runner in try await harness.wait(runner, for: job) }
            #expect(try await harness.store.job(job)?.state == .succeeded)
        }
    }

    @Test func p8WallClockDoesNotTouchTimeouts() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(timeout: .seconds(10))],
            run: { input, job throws(TestFailure) in
                if await gate.wait(job) { return input }
                throw TestFailure(code: "stopped")
            }
        ) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                harness.wall.jump(to: harness.wall.now + .seconds(86_400))
                harness.wall.jump(to: harness.wall.now + .seconds(-864_000))
                #expect(await runner.proveProgress())
                #expect(runner.snapshot.running == 1)
                gate.open()
                try await harness.wait(runner, for: job)
                #expect(try await harness.store.job(job)?.state == .succeeded)
            }
        }
    }

    @Test func p8ClockSetBackDelaysAndSetForwardReleasesAScheduledJob() async throws {
        try await RunnerHarness.withStore { harness in
            try await harness.running { runner in
                let dueAt = harness.wall.now + .seconds(60)
                let job = try await harness.enqueue(harness.job(dueAt: dueAt))
                #expect(harness.wall.armed == [dueAt])
                harness.wall.jump(to: harness.wall.now + .seconds(-3600))
                #expect(await runner.proveProgress())
                #expect(try await harness.store.job(job)?.state == .scheduled)
                #expect(harness.wall.armed == [dueAt])
                harness.wall.jump(to: dueAt + .seconds(5))
                try await harness.wait(runner, for: job)
            }
        }
    }

    /// A retry and `--in`, each with a wait of a minute, start a minute later even if the clock is set.
    @Test(arguments: [60, 3600, 86_400, -60, -3600, -86_400])
    func p8AWaitEndsWhenItsTimeHasPassedWhateverIsDoneToTheClock(_ seconds: Int) async throws {
        let thrice = RetryPolicy(tries: 2, delay: .constant(.seconds(60)))
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: thrice)], run: { _, _ throws(TestFailure) in throw TestFailure() }
        ) { harness in
            try await harness.running { runner in
                let retried = try await harness.enqueue(harness.job())
                try await harness.wait(runner, for: retried, in: [.scheduled])
                let waiting = try await harness.enqueue(harness.job(wait: .seconds(60)))
                #expect(await runner.proveProgress())
                harness.wall.advance(by: .seconds(20))
                harness.wall.jump(to: harness.wall.now + .seconds(seconds))
                #expect(await runner.proveProgress())
                // The alarm is at the end of the wait on the current clock; nothing has started.
                #expect(harness.wall.armed == [harness.wall.now + .seconds(40)])
                for job in [retried, waiting] {
                    #expect(try await harness.store.job(job)?.state == .scheduled)
                    #expect(try await harness.store.job(job)?.dueAt == harness.wall.now + .seconds(40))
                }
                harness.wall.advance(by: .seconds(40))
                try await harness.wait(runner, for: retried, in: [.failed])
                try await harness.waitForTry(1, of: waiting, runner)
            }
        }
    }

    @Test func p10IdleRunnerTurnsForNothingAndSetsNoAlarm() async throws {
        try await RunnerHarness.withStore([RunnerHarness.scripted(timeout: .seconds(30))]) { harness in
            try await harness.running { runner in
                try await harness.wait(runner, for: try await harness.enqueue([harness.job(), harness.job()]))
                #expect(await runner.proveProgress())
                let exchanges = harness.exchanges.withLock { $0 }
                #expect(harness.wall.armed == [])
                #expect(harness.uptime.armed == [])
                harness.wall.advance(by: .seconds(86_400))
                harness.uptime.advance(by: .seconds(86_400))
                // The proof's own exchange is the only one.
                #expect(await runner.proveProgress())
                #expect(harness.exchanges.withLock { $0 } == exchanges + 1)
            }
        }
    }

    @Test func p10ScheduledJobCostsOneAlarmAndNoTurnBeforeItIsDue() async throws {
        try await RunnerHarness.withStore { harness in
            try await harness.running { runner in
                #expect(await runner.proveProgress())
                let exchanges = harness.exchanges.withLock { $0 }
                let late = harness.wall.now + .seconds(7200)
                let soon = harness.wall.now + .seconds(3600)
                try await harness.enqueue(harness.job(dueAt: late))
                #expect(harness.wall.armed == [late])
                let job = try await harness.enqueue(harness.job(dueAt: soon))
                #expect(harness.wall.armed == [soon])
                harness.wall.advance(by: .seconds(3599))
                #expect(harness.exchanges.withLock { $0 } == exchanges)
                harness.wall.advance(by: .seconds(1))
                try await harness.wait(runner, for: job)
                #expect(await runner.proveProgress())
                #expect(harness.wall.armed == [late])
            }
        }
    }
}
