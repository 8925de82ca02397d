import Jobs
import OperationTypes
import SQLite
import SQLiteStore
import Synchronization
import Testing

@testable import Runner

/// Drain, interrupt, proofs of progress, and a store that fails, on a real database.
@Suite struct StoppingTests {
    @Test func drainLetsRunningAttemptsEndAndClaimsNothing() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                runner.handle(.drain(limit: .seconds(60)))
                let later = try await harness.enqueue(harness.job())
                #expect(runner.snapshot.phase == .draining(left: .seconds(60)))
                harness.uptime.advance(by: .seconds(59))
                #expect(runner.snapshot.phase == .draining(left: .seconds(1)))
                gate.open()
                await runner.drain(limit: .seconds(60))
                #expect(runner.snapshot.phase == .ended)
                #expect(try await harness.store.job(job)?.state == .succeeded)
                #expect(try await harness.store.job(later)?.state == .ready)
            }
        }
    }

    @Test func drainInterruptsAtItsLimit() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                runner.handle(.drain(limit: .seconds(60)))
                harness.uptime.advance(by: .seconds(60))
                await runner.drain(limit: .seconds(60))
                #expect(try await harness.store.job(job)?.state == .ready)
                #expect(try await harness.store.job(job)?.tries == 0)
            }
        }
    }

    @Test func stubbornOperationDoesNotHoldUpTheStop() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            await gate.waitStubbornly(job)
            return input
        }) { harness in
            let job = try await harness.enqueue(harness.job())
            try await harness.running { runner in
                _ = await gate.arrived()
                runner.interrupt()
                harness.uptime.advance(by: .seconds(5))
                await runner.drain(limit: .seconds(60))
            }
            #expect(try await harness.store.job(job)?.state == .ready)
            #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.interrupted])
            gate.open()
        }
    }

    @Test func cancelledTaskRecordsTheInterruptsBeforeItReturns() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            let job = try await harness.enqueue(harness.job())
            let runner = harness.runner()
            let task = Task { try await runner.run() }
            _ = await gate.arrived()
            task.cancel()
            try await task.value
            #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.interrupted])
        }
    }

    @Test func runnerStoppedBeforeItStartsClaimsNothing() async throws {
        try await RunnerHarness.withStore { harness in
            let job = try await harness.enqueue(harness.job())
            let runner = harness.runner()
            runner.interrupt()
            try await runner.run()
            #expect(await runner.waitUntilReady() == false)
            #expect(await runner.proveProgress() == false)
            #expect(try await harness.store.job(job)?.state == .ready)
        }
    }

    @Test func frozenClaimLoopProvesNothing() async throws {
        let freeze = Mutex<Latch<Bool>?>(nil)
        let frozen = Latch<Bool>()
        try await RunnerHarness.withStore { harness in
            let runner = harness.runner(beforeEachExchange: {
                guard let signal = freeze.withLock({ $0 }) else { return }
                frozen.open(with: true)
                await signal.uncancellableWait()
            })
            try await harness.running(runner) { runner in
                #expect(await runner.proveProgress())
                let thaw = Latch<Bool>()
                freeze.withLock { $0 = thaw }
                let proof = Task { await runner.proveProgress() }
                await frozen.uncancellableWait()
                // The watchdog gives up waiting.
                proof.cancel()
                #expect(await proof.value == false)
                freeze.withLock { $0 = nil }
                thaw.open(with: true)
                #expect(await runner.proveProgress())
            }
        }
    }

    @Test func lockedDatabaseLosesNothingAndIsTriedAgain() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job(input: "7"))
                _ = await gate.arrived()
                // Somebody opens a sqlite3 shell and begins a transaction.
                let shell = try Connection(path: harness.store.path, access: .readWrite)
                try shell.execute("BEGIN IMMEDIATE")
                gate.open()
                await harness.log.wait { $0.hasPrefix("the database cannot be written now; trying again: ") }
                #expect(await runner.proveProgress())
                #expect(runner.snapshot.problem == .busy(waitedMilliseconds: 1))
                #expect(runner.snapshot.unrecorded == 1)
                try shell.execute("ROLLBACK")
                harness.uptime.advance(by: .seconds(1))
                #expect(try await harness.wait(runner, for: job) == .succeeded)
                #expect(try await harness.output(job) == "7")
                await harness.log.wait(for: "the database can be written again")
                #expect(runner.snapshot.problem == nil)
            }
        }
    }

    @Test func closedStoreEndsTheRun() async throws {
        try await RunnerHarness.withStore { harness in
            let runner = harness.runner()
            let task = Task { try await runner.run() }
            #expect(await runner.waitUntilReady())
            await harness.store.close()
            #expect(await runner.proveProgress() == false)
            await #expect(throws: StoreError.closed) { try await task.value }
            #expect(runner.snapshot.phase == .ended)
        }
    }

    @Test func snapshotTellsWhatRuns() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: waiting(at: gate)) { harness in
            let runner = harness.runner(settings: RunnerSettings(slots: 8))
            #expect(runner.snapshot.phase == .starting)
            try await harness.running(runner) { runner in
                #expect(
                    runner.snapshot
                        == RunnerSnapshot(phase: .running, running: 0, abandoned: 0, slots: 8, unrecorded: 0))
                let jobs = try await harness.enqueue([harness.job(), harness.job()])
                _ = await gate.arrived(2)
                #expect(runner.snapshot.running == 2)
                gate.open()
                try await harness.wait(runner, for: jobs)
            }
        }
    }

    private func waiting(at gate: Gate) -> Scripted.Body {
        { input, job throws(TestFailure) in
            if await gate.wait(job) { return input }
            throw TestFailure(code: "stopped")
        }
    }
}
