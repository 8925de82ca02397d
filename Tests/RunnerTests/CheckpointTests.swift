import Jobs
import OperationTypes
import SQLiteStore
import Synchronization
import Testing

@testable import Runner

@Suite struct CheckpointTests {
    private static let thrice = RetryPolicy(tries: 3)

    private static func value(_ number: Int) -> JSONText { JSONText(integer: Int64(number)) }

    @Test func theNextAttemptResumesAtTheLastCheckpoint() async throws {
        let begun = Mutex<[JSONText?]>([])
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: Self.thrice)],
            run: { input, job throws(TestFailure) in
                begun.withLock { $0.append(job.checkpoint) }
                await expectSaved(job, Self.value(job.lease.attempt))
                if job.lease.attempt < 3 { throw TestFailure() }
                return input
            }
        ) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                #expect(try await harness.wait(runner, for: job) == .succeeded)
                #expect(begun.withLock(\.self) == [nil, Self.value(1), Self.value(2)])
                #expect(try await harness.store.checkpoint(of: job) == nil)
            }
        }
    }

    @Test func aSaveIsDurableWhenItReturns() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            await expectSaved(job, Self.value(7))
            _ = await gate.wait(job)
            return input
        }) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                let expected = Checkpoint(attempt: 1, savedAt: harness.wall.now, value: Self.value(7))
                #expect(try await harness.store.checkpoint(of: job) == expected)
                gate.open()
                try await harness.wait(runner, for: job)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func aSaveWhoseAnswerIsLostIsRepeated(isStored: Bool) async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            await expectSaved(job, Self.value(7))
            _ = await gate.wait(job)
            return input
        }) { harness in
            let store = CutOffStore(harness.store, ManualClock(Duration.seconds(5000)))
            store.loseNextSave(isStored: isStored)
            try await harness.running(harness.runner(on: store)) { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                #expect(try await harness.store.checkpoint(of: job)?.value == Self.value(7))
                gate.open()
                try await harness.wait(runner, for: job)
            }
            #expect(store.savedTogether == [[Self.value(7)], [Self.value(7)]])
        }
    }

    @Test func anInterruptedJobKeepsItsCheckpoint() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { _, job throws(TestFailure) in
            await expectSaved(job, Self.value(1))
            _ = await gate.wait(job)
            throw TestFailure()
        }) { harness in
            let job = try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                return job
            }
            #expect(try await harness.store.job(job)?.state == .ready)
            #expect(try await harness.store.checkpoint(of: job)?.value == Self.value(1))
        }
    }

    /// Q2: many saves at once end all, and the newest value stays.
    @Test func manySavesOfOneAttemptAllReturn() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            await withTaskGroup(of: Void.self) { group in
                for number in 1...200 { group.addTask { await expectSaved(job, Self.value(number)) } }
            }
            await expectSaved(job, Self.value(1000))
            _ = await gate.wait(job)
            return input
        }) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                #expect(try await harness.store.checkpoint(of: job)?.value == Self.value(1000))
                gate.open()
                try await harness.wait(runner, for: job)
            }
        }
    }

    @Test func manyAttemptsSaveAtOnce() async throws {
        let count = 100
        let begun = Mutex<[JobID: [JSONText?]]>([:])
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: RetryPolicy(tries: 2))],
            run: { input, job throws(TestFailure) in
                begun.withLock { $0[job.lease.job, default: []].append(job.checkpoint) }
                // Together they are larger than one batch.
                await expectSaved(job, JSONText(string: String(repeating: "x", count: 40_000) + "\(job.lease.job)"))
                if job.lease.attempt == 1 { throw TestFailure() }
                return input
            }
        ) { harness in
            try await harness.running { runner in
                let jobs = try await harness.enqueue(try (0..<count).map { _ in try harness.job() })
                try await harness.wait(runner, for: jobs)
                for job in jobs {
                    let texts = begun.withLock { $0[job] ?? [] }.map { $0?.decodedString?.hasSuffix("x\(job)") }
                    #expect(texts == [nil, true])
                }
            }
        }
    }

    /// Q2: of the values that wait while another is saved, only the newest is.
    @Test(.timeLimit(.minutes(1))) func waitingValuesAreSavedAsOne() async throws {
        let host = SilentHost()
        try await RunnerHarness.withStore { harness in
            let store = CutOffStore(harness.store, ManualClock(Duration.seconds(5000)))
            store.holdSaves()
            let runner = harness.runner(on: store)
            runner.use(try KindRegistry(runnable: [RunnableKind(Scripted.description, hostedBy: host)]))
            try await harness.running(runner) { runner in
                let job = try await harness.enqueue(harness.job())
                let attempt = await host.attempt()
                let saved = (0...5).map { _ in Latch<Bool>() }
                for number in 0...5 {
                    attempt.onCheckpoint(Self.value(number)) { result in
                        let isSaved = if case .success = result { true } else { false }
                        saved[number].open(with: isSaved)
                    }
                }
                await store.saveArrived()
                store.passSaves()
                for latch in saved { #expect(await latch.uncancellableWait()) }
                attempt.onEnd(.succeeded(.null, children: []))
                try await harness.wait(runner, for: job)
            }
            #expect(store.savedTogether == [[Self.value(0)], [Self.value(5)]])
        }
    }

    // MARK: Ends

    /// The operation ends while its save is on its way to the store.
    @Test(.timeLimit(.minutes(1))) func aSaveEndsBeforeTheEndOfItsAttemptIsRecorded() async throws {
        let gate = Gate()
        let begun = Mutex<[JSONText?]>([])
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(retry: RetryPolicy(tries: 2))],
            run: { input, job throws(TestFailure) in
                begun.withLock { $0.append(job.checkpoint) }
                if job.lease.attempt == 2 { return input }
                Task { await expectSaved(job, Self.value(1)) }
                _ = await gate.wait(job)
                throw TestFailure()
            }
        ) { harness in
            let store = CutOffStore(harness.store, ManualClock(Duration.seconds(5000)))
            store.holdSaves()
            try await harness.running(harness.runner(on: store)) { runner in
                let job = try await harness.enqueue(harness.job())
                await store.saveArrived()
                gate.open()
                #expect(await runner.proveProgress())
                #expect(try await harness.store.attempts(of: job).isEmpty)
                store.passSaves()
                #expect(try await harness.wait(runner, for: job) == .succeeded)
                #expect(begun.withLock(\.self) == [nil, Self.value(1)])
            }
        }
    }

    /// A success needs no checkpoint, and its transaction deletes the checkpoint.
    @Test(.timeLimit(.minutes(1))) func aSuccessDoesNotWaitForItsSaves() async throws {
        let gate = Gate()
        let errors = Mutex<[CheckpointError?]>([])
        let answered = Latch<Void>()
        let save: @Sendable (JobContext, Int) async -> Void = { job, number in
            var error: CheckpointError?
            do throws(CheckpointError) { try await job.save(number) } catch let found { error = found }
            let count = errors.withLock { errors in
                errors.append(error)
                return errors.count
            }
            if count == 2 { answered.open() }
        }
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(timeout: .seconds(30))],
            run: { input, job throws(TestFailure) in
                for number in 1...2 { Task { await save(job, number) } }
                _ = await gate.wait(job)
                return input
            }
        ) { harness in
            let store = CutOffStore(harness.store, ManualClock(Duration.seconds(5000)))
            store.holdSaves()
            try await harness.running(harness.runner(on: store)) { runner in
                let job = try await harness.enqueue(harness.job())
                await store.saveArrived()
                gate.open()
                #expect(try await harness.wait(runner, for: job) == .succeeded)
                store.passSaves()
                await answered.uncancellableWait()
                #expect(errors.withLock(\.self) == [.leaseLost, .leaseLost])
                #expect(try await harness.store.checkpoint(of: job) == nil)
            }
            #expect(store.savedTogether.count == 1)
        }
    }

    /// I11: the limits of an attempt apply to its operation, not to its saves.
    @Test(.timeLimit(.minutes(1))) func aFailureDoesNotTimeOutWhileItsSavesTakeLong() async throws {
        let host = SilentHost()
        try await RunnerHarness.withStore([RunnerHarness.scripted(timeout: .seconds(30))]) { harness in
            let store = CutOffStore(harness.store, ManualClock(Duration.seconds(5000)))
            store.holdSaves()
            // The life of the runner does not end meanwhile.
            let runner = harness.runner(on: store, lifeClock: ManualClock(Duration.seconds(1000)))
            runner.use(try KindRegistry(runnable: [RunnableKind(Scripted.description, hostedBy: host)]))
            try await harness.running(runner) { runner in
                let job = try await harness.enqueue(harness.job())
                let attempt = await host.attempt()
                attempt.onBegin()
                attempt.onCheckpoint(Self.value(1)) { _ in }
                await store.saveArrived()
                attempt.onEnd(
                    .failed(TryFailure(JobFailure(code: "broken", message: "it broke"), isRetryable: false)))
                for _ in 1...2 { harness.uptime.advance(by: .seconds(60)) }
                #expect(try await harness.store.attempts(of: job).isEmpty)
                store.passSaves()
                #expect(try await harness.wait(runner, for: job) == .failed)
                #expect(try await harness.failure(job)?.code == "broken")
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func aSaveUnderALostLeaseFails() async throws {
        let gate = Gate()
        let error = Mutex<CheckpointError?>(nil)
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            if job.lease.attempt == 2 { return input }
            await gate.waitStubbornly(job)
            do throws(CheckpointError) { try await job.save(1) } catch let found { error.withLock { $0 = found } }
            throw TestFailure()
        }) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job())
                let lease = await gate.arrived()[0]
                let holder = try #require(try await harness.store.holders().last).id
                let end = AttemptEnd(lease: lease, ending: .interrupted)
                let answer = try await harness.store.exchange([end], claim: nil, by: holder, now: harness.wall.now)
                #expect(answer.finished == [.recorded(.ready)])
                #expect(try await harness.wait(runner, for: job) == .succeeded)
                gate.open()
            }
            // The runner waits for the first attempt before it ends.
            #expect(error.withLock(\.self) == .leaseLost)
        }
    }

    @Test(.timeLimit(.minutes(1))) func aSaveThatTheStoreCannotTakeFailsAndTheNextMaySucceed() async throws {
        let (cut, mended) = (Gate(), Gate())
        let error = Mutex<CheckpointError?>(nil)
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            _ = await cut.wait(job)
            do throws(CheckpointError) { try await job.save(1) } catch let found { error.withLock { $0 = found } }
            _ = await mended.wait(job)
            await expectSaved(job, Self.value(2))
            throw TestFailure()
        }) { harness in
            let store = CutOffStore(harness.store, ManualClock(Duration.seconds(5000)))
            try await harness.running(harness.runner(on: store)) { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await cut.arrived()
                store.cut()
                cut.open()
                _ = await mended.arrived()
                #expect(error.withLock(\.self) == .notSaved(reason: CutOffStore.unreachable.description))
                #expect(try await harness.store.checkpoint(of: job) == nil)
                store.mend()
                mended.open()
                #expect(try await harness.wait(runner, for: job) == .failed)
            }
            #expect(store.savedTogether == [[Self.value(1)], [Self.value(2)]])
        }
    }
}

/// Saves a checkpoint and expects success.
private func expectSaved(_ job: JobContext, _ value: JSONText) async {
    do throws(CheckpointError) {
        try await job.save(value)
    } catch {
        Issue.record("\(error)")
    }
}
