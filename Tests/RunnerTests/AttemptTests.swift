import Jobs
import Logging
import OperationTypes
import SQLiteStore
import Synchronization
import Testing

@testable import Runner

/// How attempts end, on a real database.
@Suite struct AttemptTests {
    static let thrice = RetryPolicy(
        tries: 3, delay: .exponential(initial: .seconds(4), multiplier: 2, cap: .seconds(60)), jitter: .full)

    @Test func failedTriesComeBackAfterTheirDelayAndThenEnd() async throws {
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: Self.thrice)],
            run: { _, _ throws(TestFailure) in throw TestFailure() }
        ) { harness in
            try await harness.running { runner in
                let start = harness.wall.now
                let job = try await harness.enqueue(harness.job())
                // Full jitter with a random number of 0.5: half of 4 s, half of 8 s.
                try await harness.wait(runner, for: job, in: [.scheduled])
                #expect(try await harness.store.job(job)?.dueAt == start + .seconds(2))
                #expect(await runner.proveProgress())
                harness.wall.advance(by: .seconds(2))
                try await harness.waitForTry(2, of: job, runner)
                #expect(try await harness.store.job(job)?.dueAt == start + .seconds(6))
                harness.wall.advance(by: .seconds(4))
                try await harness.wait(runner, for: job)
                let attempts = try await harness.store.attempts(of: job)
                #expect(attempts.map(\.outcome) == [.failed, .failed, .failed])
                #expect(attempts.map(\.retryAt) == [start + .seconds(2), start + .seconds(6), nil])
                #expect(try await harness.failure(job)?.code == "broken")
                #expect(try await harness.store.job(job)?.tries == 3)
            }
        }
    }

    @Test func waitThatTheOtherSideAskedForIsKept() async throws {
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: Self.thrice)],
            run: { _, _ throws(TestFailure) in throw TestFailure(retryAfterMs: 90_000) }
        ) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                try await harness.wait(runner, for: job, in: [.scheduled])
                #expect(try await harness.store.job(job)?.dueAt == harness.wall.now + .seconds(90))
            }
        }
    }

    @Test func failureThatIsNotWorthARetryIsFinal() async throws {
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: Self.thrice)],
            run: { _, _ throws(TestFailure) in throw TestFailure(code: "gone", isRetryable: false) }
        ) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                #expect(try await harness.wait(runner, for: job) == .failed)
                let failure = try await harness.failure(job)
                #expect(failure?.code == "gone")
                #expect(failure?.message == "it broke (gone)")
                #expect(failure?.detail?.string == #"{"code":"gone","isRetryable":false}"#)
            }
        }
    }

    /// So that an operation takes back what it began when nobody goes on with it.
    @Test func anAttemptKnowsWhetherItsTimeoutWasTheLastTry() async throws {
        let gate = Gate()
        let told = Mutex<[Bool]>([])
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: RetryPolicy(tries: 2), timeout: .seconds(30))],
            run: { input, job throws(TestFailure) in
                let before = job.isStoppedForGood
                _ = await gate.wait(job)
                // What fails while it stops does not count.
                let lost = TestFailure(code: "gone", isRetryable: false)
                told.withLock { $0 += [before, job.isStoppedForGood, job.wouldEnd(with: lost)] }
                throw TestFailure(code: "stopped")
            }
        ) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                for _ in 0..<2 {
                    _ = await gate.arrived()
                    harness.uptime.advance(by: .seconds(30))
                }
                #expect(try await harness.wait(runner, for: job) == .failed)
                #expect(told.withLock(\.self) == [false, false, false, false, true, true])
            }
        }
    }

    @Test func attemptThatTakesTooLongIsStoppedAndTimedOut() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: RetryPolicy(tries: 2), timeout: .seconds(30))],
            run: { input, job throws(TestFailure) in
                _ = await gate.wait(job)
                throw TestFailure(code: "stopped")
            }
        ) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                harness.uptime.advance(by: .milliseconds(29_999))
                #expect(runner.snapshot.running == 1)
                harness.uptime.advance(by: .milliseconds(1))
                _ = await gate.arrived()
                harness.uptime.advance(by: .seconds(30))
                #expect(try await harness.wait(runner, for: job) == .failed)
                #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.timedOut, .timedOut])
                #expect(try await harness.failure(job)?.code == "timed_out")
            }
        }
    }

    /// The reason is stored before the operation returns, so it cannot come from the operation.
    @Test func aTimeoutThatTheOperationIgnoresIsNamedInTheFailure() async throws {
        let gate = Gate()
        let isStopped = Latch<Void>()
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: RetryPolicy(tries: 1), timeout: .seconds(30))],
            run: { input, job throws(TestFailure) in
                await withTaskCancellationHandler {
                    await gate.waitStubbornly(job)
                } onCancel: {
                    isStopped.open()
                }
                return input
            }
        ) { harness in
            try await harness.running(harness.runner(settings: RunnerSettings(grace: .seconds(7)))) { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                harness.uptime.advance(by: .seconds(30))
                await isStopped.wait()
                harness.uptime.advance(by: .seconds(7))
                #expect(try await harness.wait(runner, for: job) == .failed)
                let message = try #require(try await harness.failure(job)?.message)
                #expect(
                    message.hasPrefix("the attempt took longer than 30s, the timeout of the definition "), "\(message)")
                #expect(
                    message.hasSuffix(" The attempt did not stop within 7s of the request, and was abandoned."),
                    "\(message)")
                gate.open()
            }
        }
    }

    @Test(arguments: [false, true], [nil, .seconds(10)] as [Duration?])
    func theFailureSaysThatAnAttemptDidNotStopInTime(isProgram: Bool, grace: Duration?) throws {
        let program = try ProgramDefinition(
            json: JSONText(checking: Array(#"{"program":["/bin/true"]}"#.utf8)), at: [])
        let definition = Definition(
            name: "d", kind: "k", retry: RetryPolicy(tries: 1), program: isProgram ? program : nil)
        let ending = AttemptEnd.Ending(
            .notRun, stop: .timedOut(after: .seconds(1)), abandonedAfter: grace, of: definition, tries: 0,
            maxCrashes: 3, random: 0)
        guard case .failed(let failure, timedOut: true) = ending else {
            Issue.record("\(ending)")
            return
        }
        #expect(
            failure.message.hasSuffix(" The attempt did not stop within 10s of the request, and was abandoned.")
                == (grace != nil), "\(failure.message)")
        // The program may have ended long before: only its own log says how.
        #expect(!failure.message.contains("SIGTERM") && !failure.message.contains("killed"), "\(failure.message)")
        // Other reasons leave no message.
        for reason in [StopReason.cancelled, .interrupted] {
            let other = AttemptEnd.Ending(
                .notRun, stop: reason, abandonedAfter: grace, of: definition, tries: 0, maxCrashes: 3, random: 0)
            switch (reason, other) {
            case (.cancelled, .cancelled), (.interrupted, .interrupted): break
            default: Issue.record("\(other)")
            }
        }
    }

    @Test func cancellationReachesTokenAndTask() async throws {
        let gate = Gate()
        let sawTaskCancelled = Mutex(false)
        try await RunnerHarness.withStore(run: { _, job throws(TestFailure) in
            let passed = await withTaskCancellationHandler {
                await gate.wait(job)
            } onCancel: {
                sawTaskCancelled.withLock { $0 = true }
            }
            #expect(!passed)
            #expect(job.operation.cancellation.isCancelling)
            throw TestFailure(code: "stopped")
        }) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                #expect(try await harness.store.cancel([job], now: harness.wall.now) == [.requested])
                #expect(try await harness.wait(runner, for: job) == .cancelled)
                #expect(try await harness.store.attempts(of: job).map(\.outcome) == [.cancelled])
                #expect(try await harness.failure(job)?.code == "cancelled")
            }
            #expect(sawTaskCancelled.withLock { $0 })
        }
    }

    @Test func valueGivenDespiteACancellationCounts() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            _ = await gate.wait(job)
            return input
        }) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job(input: "42"))
                _ = await gate.arrived()
                _ = try await harness.store.cancel([job], now: harness.wall.now)
                #expect(try await harness.wait(runner, for: job) == .succeeded)
                #expect(try await harness.output(job) == "42")
            }
        }
    }

    @Test func operationThatHeedsNothingIsGivenUpAndKeepsItsSlot() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            if input.string == #""stubborn""# { await gate.waitStubbornly(job) }
            return input
        }) { harness in
            let runner = harness.runner(settings: RunnerSettings(slots: 1, grace: .seconds(5)))
            try await harness.running(runner) { runner in
                let job = try await harness.enqueue(harness.job(input: #""stubborn""#))
                _ = await gate.arrived()
                let other = try await harness.enqueue(harness.job())
                _ = try await harness.store.cancel([job], now: harness.wall.now)
                harness.uptime.advance(by: .seconds(5))
                #expect(try await harness.wait(runner, for: job) == .cancelled)
                #expect(runner.snapshot.abandoned == 1)
                #expect(try await harness.store.job(other)?.state == .ready)
                #expect(
                    harness.log.all.contains {
                        $0.level == .warning && $0.message.contains("did not stop within 5s (cancellation)")
                    })
                gate.open()
                try await harness.wait(runner, for: other)
                #expect(runner.snapshot.abandoned == 0)
                #expect(try await harness.store.job(job)?.state == .cancelled)
            }
        }
    }

    @Test func resultAboveTheLimitIsAFailureThatNamesBoth() async throws {
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: Self.thrice)],
            run: { input, _ throws(TestFailure) in
                JSONText(string: String(repeating: "x", count: JSONText.maxBytes - (input.string == "0" ? 2 : 1)))
            }
        ) { harness in
            try await harness.running { runner in
                let jobs = try await harness.enqueue([harness.job(input: "0"), harness.job(input: "1")])
                try await harness.wait(runner, for: jobs)
                #expect(try await harness.output(jobs[0])?.utf8.count == 1_048_576)
                let failure = try await harness.failure(jobs[1])
                #expect(failure?.code == "result_too_large")
                #expect(failure?.message.contains("1048577") == true)
                #expect(failure?.message.contains("1048576") == true)
            }
        }
    }

    @Test func kindThatIsNotThereFailsTheJob() async throws {
        try await RunnerHarness.withStore([RunnerHarness.scripted(kind: "elsewhere")]) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                #expect(try await harness.wait(runner, for: job) == .failed)
                #expect(try await harness.failure(job)?.code == "unknown_kind")
            }
        }
    }

    @Test func childThatCannotBePlannedFailsTheAttempt() async throws {
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            job.enqueue(ChildJob(definition: "nobody"))
            return input
        }) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                #expect(try await harness.wait(runner, for: job) == .failed)
                #expect(try await harness.failure(job)?.code == "unknown_definition")
            }
        }
    }

    @Test func logNamesTheAttemptAndNeverItsPayload() async throws {
        try await RunnerHarness.withStore(run: { input, _ throws(TestFailure) in
            if input.string.contains("fails") { throw TestFailure(code: "canary_code") }
            return input
        }) { harness in
            try await harness.running { runner in
                let jobs = try await harness.enqueue(
                    [harness.job(input: #""canary""#), harness.job(input: #""canary fails""#)], isGraph: true)
                try await harness.wait(runner, for: jobs)
                await harness.log.wait { $0.hasPrefix("job \(jobs[1]) (scripted): failed: ") }
                let failed = try #require(harness.log.all.first { $0.metadata["HALYARD_EVENT"] == "job-failed" })
                #expect(failed.metadata["HALYARD_CODE"] == "canary_code")
                #expect(failed.message == "job \(jobs[1]) (scripted): failed: it broke (canary_code)")
                #expect(failed.metadata["HALYARD_ERROR"] == "it broke (canary_code)")
                let entry = try #require(harness.log.all.first { $0.metadata["HALYARD_OUTCOME"] == "succeeded" })
                #expect(entry.message.hasPrefix("job \(jobs[0]) (scripted): succeeded in "))
                #expect(entry.metadata["HALYARD_JOB"] == "\(jobs[0])")
                #expect(entry.metadata["HALYARD_KIND"] == "scripted")
                #expect(entry.metadata["HALYARD_ATTEMPT"] == "1")
                #expect(entry.metadata["HALYARD_OUTCOME"] == "succeeded")
                #expect(entry.metadata["HALYARD_GRAPH"] != nil)
                #expect(entry.metadata["HALYARD_DURATION_USEC"] != nil)
            }
            #expect(!harness.log.all.contains { "\($0)".contains("canary\"") })
        }
    }
}

extension RunnerHarness {
    /// Waits until a job has used up `tries` tries.
    func waitForTry(_ tries: Int, of job: JobID, _ runner: JobRunner) async throws {
        let events = runner.events.subscribe(.job(job))
        var iterator = events.makeAsyncIterator()
        while try await store.job(job)?.tries != tries {
            guard await iterator.next() != nil else { return }
        }
    }
}
