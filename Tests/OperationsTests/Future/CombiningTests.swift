import Operations
import Signals
import Synchronization
import Testing

@Suite struct CombiningTests {
    typealias F = Future<Int, Failed>

    @Test func timeoutFailsAPendingFuture() async {
        let clock = ManualClock()
        let promise = Promise<Int, Failed>()
        let limited = promise.future.timeout(after: .seconds(5), clock: clock, failure: Failed(5))
        await clock.sleepers(1)
        clock.advance(by: .seconds(4))
        #expect(limited.result == nil)
        clock.advance(by: .seconds(1))
        #expect(await limited.settled() == .failure(Failed(5)))
        promise.succeed(value: 1)
        #expect(limited.error == Failed(5))
    }

    @Test func timeoutKeepsAResultThatComesInTimeAndEndsItsWait() async {
        let clock = ManualClock()
        let promise = Promise<Int, Failed>()
        let limited = promise.future.timeout(after: .seconds(5), clock: clock, failure: Failed(5))
        await clock.sleepers(1)
        promise.succeed(value: 1)
        #expect(limited.value == 1)
        clock.advance(by: .seconds(9))
        #expect(limited.value == 1)
        #expect(F(value: 2).timeout(after: .zero, failure: Failed(1)).value == 2)
    }

    @Test func deadlinesAndUntypedTimeouts() async {
        let clock = ManualClock()
        let pending = Promise<Int, Failed>()
        let limited = pending.future.timeout(at: clock.now.advanced(by: .seconds(1)), clock: clock, failure: Failed(1))
        let past = pending.future.timeout(at: ContinuousClock.now, failure: Failed(2))
        #expect(await past.settled() == .failure(Failed(2)))
        await clock.sleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await limited.settled() == .failure(Failed(1)))
        let any = Promise<Int, any Error>()
        await #expect(throws: TimeoutError(limit: .milliseconds(1))) {
            try await any.future.timeout(after: .milliseconds(1)).get()
        }
    }

    @Test func aTimeoutEndsTheWaitForAReleasedPromise() async {
        #expect(
            await Promise<Int, Failed>().future.timeout(after: .milliseconds(1), failure: Failed(3)).settled()
                == .failure(Failed(3)))
    }

    @Test func anyIsTheFirstSuccess() {
        let promises = (0..<3).map { _ in Promise<Int, Failed>() }
        let any = Future.any(promises.map(\.future))
        promises[1].fail(error: Failed(1))
        #expect(any.result == nil)
        promises[2].succeed(value: 2)
        promises[0].succeed(value: 0)
        #expect(any.value == 2)
        #expect(Future.any(F(error: Failed(1)), F(value: 1), F(value: 2)).value == 1)
        #expect(Future.any(F(error: Failed(1)), F(error: Failed(2))).error == Failed(2))
        #expect(F.any([]).result == nil)
    }

    @Test func anyFailsWithTheLatestFailure() {
        let promises = (0..<3).map { _ in Promise<Int, Failed>() }
        let any = Future.any(promises.map(\.future))
        for index in [1, 2, 0] {
            #expect(any.result == nil)
            promises[index].fail(error: Failed(index))
        }
        #expect(any.error == Failed(0))
    }

    @Test func aRaceCancelsItsLosers() {
        let promise = Promise<Int, Failed>()
        let stopped = Shared<[String]>([])
        let race = F.race(
            { token in
                token.register { stopped.value.append("first") }
                return promise.future
            },
            { token in
                token.register { stopped.value.append("second") }
                return Promise<Int, Failed>().future
            })
        #expect(race.result == nil && stopped.value.isEmpty)
        promise.succeed(value: 1)
        #expect(race.value == 1)
        #expect(stopped.value == ["first", "second"])
        let source = CancellationTokenSource()
        let pending = Promise<Int, Failed>()
        _ = F.race(
            cancellation: source.token,
            { token in
                token.register { stopped.value = ["from outside"] }
                return pending.future
            })
        source.cancel()
        #expect(stopped.value == ["from outside"])
    }

    @Test func finallyRunsOnceBeforeWhatFollows() {
        let log = Log()
        let promise = Promise<Int, Failed>()
        let future = promise.future.finally { log.add("finally") }.map { value in
            log.add("map")
            return value
        }
        promise.succeed(value: 1)
        #expect(future.value == 1)
        #expect(F(error: Failed(2)).finally { log.add("failed") }.error == Failed(2))
        #expect(log.all == ["finally", "map", "failed"])
    }

    @Test func afterIsCancelled() async {
        let clock = ManualClock()
        let source = CancellationTokenSource()
        let cancelled = Future.after(.seconds(5), cancellation: source.token, clock: clock)
        await clock.sleepers(1)
        source.cancel()
        #expect(await cancelled.settled().mapError { _ in Failed(1) } == .failure(Failed(1)))
        let due = Future.after(.seconds(5), cancellation: CancellationToken.none, clock: clock)
        await clock.sleepers(1)
        clock.advance(by: .seconds(5))
        #expect(await due.settled().mapError { _ in Failed(1) } == .success(()))
    }

    @Test func retryWaitsOnItsClock() async {
        let clock = ManualClock()
        let attempts = Shared(0)
        let policy = RetryPolicy(
            tries: 3, delay: .exponential(initial: .seconds(10), multiplier: 2, cap: .seconds(60)), failures: .any)
        let future = F.retry(policy, clock: clock) {
            attempts.value += 1
            return F(error: Failed(attempts.value))
        }
        #expect(attempts.value == 1)
        await clock.sleepers(1)
        clock.advance(by: .seconds(9))
        #expect(attempts.value == 1)
        clock.advance(by: .seconds(1))
        await clock.sleepers(1)
        #expect(attempts.value == 2)
        clock.advance(by: .seconds(20))
        #expect(await future.settled() == .failure(Failed(3)))
    }
}

private func == (one: Result<Void, Failed>, other: Result<Void, Failed>) -> Bool {
    switch (one, other) {
    case (.success, .success): true
    case (.failure(let one), .failure(let other)): one == other
    default: false
    }
}

@Suite struct CombinedOperationTests {
    @Test func thenPassesTheOutputToTheNext() async throws {
        let quadrupling = Doubling().then(Doubling())
        #expect(try await quadrupling.value(1) == 4)
        await #expect(throws: WorkError.failed(-1)) { try await quadrupling.value(-1) }
        let text = Doubling().then { (number, _) async throws(WorkError) in "\(number)" }
        #expect(try await text.value(2) == "4")
        let foreign = AdaptedOperation<Int, Int, Failed> { (number, _) async throws(Failed) in throw Failed(number) }
        await #expect(throws: WorkError.failed(2)) {
            try await Doubling().then(foreign.mapFailure { .failed($0.number) }).value(1)
        }
    }

    @Test func theTimeOfAnOperationIsLimited() async throws {
        let clock = ManualClock()
        let work = Doubling()
        let limited = work.timeout(after: .seconds(1), clock: clock, failure: .failed(99))
        #expect(try await limited.value(4) == 8)
        let value = Task { try await limited.value(0) }
        #expect(await work.started.wait())
        await clock.sleepers(1)
        clock.advance(by: .seconds(1))
        await #expect(throws: WorkError.failed(99)) { try await value.value }
        #expect(await work.sawCancellation.wait())
    }

    @Test func aRaceOfOperationsCancelsTheLosers() async throws {
        let slow = Doubling()
        let gate = Signal()
        func contestant(_ work: @escaping @Sendable () async throws(WorkError) -> Int)
            -> AdaptedOperation<Int, Int, WorkError>
        {
            AdaptedOperation { (_, context) async throws(WorkError) in try await work() }
        }
        let race = AdaptedOperation<Int, Int, WorkError> { (_, context) async throws(WorkError) in
            try await slow.run(0, context: context)
        }.racing(
            contestant { () async throws(WorkError) in
                _ = await gate.wait()
                return 7
            })
        async let value = race.value(1)
        #expect(await slow.started.wait())
        gate.send()
        #expect(try await value == 7)
        #expect(await slow.sawCancellation.wait())
    }

    @Test func cancellingFromOutsideReachesAllContestants() async {
        let works = [Doubling(), Doubling()]
        let source = CancellationTokenSource()
        let result = Task { try await works[0].racing(works[1]).value(0, cancellation: source.token) }
        for work in works { #expect(await work.started.wait()) }
        source.cancel()
        for work in works { #expect(await work.sawCancellation.wait()) }
        await #expect(throws: WorkError.self) { try await result.value }
    }
}
