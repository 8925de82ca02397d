import Dispatch
import Operations
import Signals
import Synchronization
import Testing

@Suite struct CompositionTests {
    typealias F = Future<Int, Failed>

    @Test func mapAndFlatMap() {
        #expect(F(value: 1).map { $0 + 1 }.value == 2)
        #expect(F(value: 1).flatMap { F(value: $0 + 1) }.value == 2)
        #expect(F(value: 1).flatMap { Future<Int, Never>(value: $0 + 2) }.value == 3)
        #expect(Future<Int, Never>(value: 1).flatMap { F(error: Failed($0)) }.error == Failed(1))
        let never: Future<Int, Never> = Future(value: 1).flatMap { Future(value: $0 + 3) }
        #expect(never.value == 4)
    }

    @Test func flatMapWaitsForTheInnerFuture() {
        let outer = Promise<Int, Failed>()
        let inner = Promise<String, Failed>()
        let future = outer.future.flatMap { _ in inner.future }
        outer.succeed(value: 1)
        #expect(future.value == nil)
        inner.succeed(value: "done")
        #expect(future.value == "done")
    }

    @Test func errorsPassThroughValuesPassThrough() {
        #expect(F(error: Failed(1)).map { $0 }.error == Failed(1))
        #expect(F(error: Failed(1)).flatMap { F(value: $0) }.error == Failed(1))
        #expect(F(value: 1).mapError { _ in Failed(2) }.value == 1)
        #expect(F(value: 1).flatMapError { _ in F(value: 2) }.value == 1)
        #expect(F(error: Failed(1)).mapError { Failed($0.number + 1) }.error == Failed(2))
        #expect(F(error: Failed(1)).flatMapError { F(value: $0.number) }.value == 1)
    }

    @Test func tryMapTurnsAThrowIntoAFailure() {
        let future = Future<Int, any Error>(value: 1).tryMap { _ -> Int in throw Failed(4) }
        #expect(future.error as? Failed == Failed(4))
        #expect(Future<Int, any Error>(value: 1).tryMap { $0 + 1 }.value == 2)
    }

    @Test func castErrorAsVoidMaterialize() {
        let cast: Future<Int, Failed> = Future(value: 1).castError()
        #expect(cast.value == 1)
        #expect(F(value: 1).asVoid().value != nil)
        #expect(F(error: Failed(1)).materialize().value == .failure(Failed(1)))
        #expect(F(value: 1).materialize().value == .success(1))
    }

    @Test func zipSucceedsByPositionInAnyOrderOfResolution() {
        let a = Promise<Int, Failed>()
        let b = Promise<String, Failed>()
        let c = Promise<Bool, Failed>()
        let pair = Future.zip(a.future, b.future)
        let triple = Future.zip(a.future, b.future, c.future)
        c.succeed(value: true)
        b.succeed(value: "b")
        #expect(pair.value == nil)
        a.succeed(value: 1)
        #expect(pair.value! == (1, "b"))
        #expect(triple.value! == (1, "b", true))
    }

    @Test func zipFailsWithTheFirstFailureInTime() {
        let promises = (0..<3).map { _ in Promise<Int, Failed>() }
        let zipped = Future.zip(promises.map(\.future))
        promises[2].fail(error: Failed(2))
        promises[0].fail(error: Failed(0))
        #expect(zipped.error == Failed(2))
    }

    @Test func zipOfFailedOnesFailsWithTheLeftmost() {
        #expect(Future.zip(F(error: Failed(1)), F(error: Failed(2))).error == Failed(1))
        #expect(Future.zip(F(value: 0), F(error: Failed(1)), F(error: Failed(2))).error == Failed(1))
        let pending = Promise<Int, Failed>()
        #expect(Future.zip([pending.future, F(error: Failed(1)), F(error: Failed(2))]).error == Failed(1))
    }

    @Test func zipAndReduceOfNothingAreResolved() {
        #expect(Future.zip([F]()).value == [])
        #expect(Future.reduce(5, [F](), +).value == 5)
    }

    @Test func reduceCombinesInTheOrderOfTheArray() {
        let promises = (0..<4).map { _ in Promise<String, Failed>() }
        let reduced = Future.reduce("", promises.map(\.future), +)
        for index in [2, 0, 3, 1] { promises[index].succeed(value: "\(index)") }
        #expect(reduced.value == "0123")
    }

    @Test func firstIsTheFirstToResolveWhateverWithAndTheLeftmostOfResolvedOnes() {
        let a = Promise<Int, Failed>()
        let b = Promise<Int, Failed>()
        let first = Future.first(a.future, b.future)
        b.fail(error: Failed(2))
        a.succeed(value: 1)
        #expect(first.error == Failed(2))
        #expect(Future.first(F(value: 1), F(error: Failed())).value == 1)
        #expect(Future.first([F]()).result == nil)
    }

    @Test func forEachStartsTheNextOnceTheOneBeforeSucceeded() {
        let promises = (0..<3).map { _ in Promise<Int, Failed>() }
        let started = Shared<[Int]>([])
        let subscribed = Shared(0)
        let all = Future.forEach(
            promises.indices.map { index in
                {
                    started.value.append(index)
                    return promises[index].future
                }
            }
        ) { _ in subscribed.value += 1 }
        #expect(started.value == [0])
        #expect(subscribed.value == 1)
        promises[0].succeed(value: 0)
        #expect(started.value == [0, 1])
        promises[1].fail(error: Failed(1))
        #expect(started.value == [0, 1])
        #expect(subscribed.value == 2)
        #expect(all.error == Failed(1))
    }

    @Test func forEachOfResolvedFuturesIsSynchronousAndDoesNotRecurse() {
        let sum = Shared(0)
        let all = Future.forEach((0..<100_000).map { number in { F(value: number) } }) { sum.value += $0.value ?? 0 }
        #expect(all.value != nil)
        #expect(sum.value == 4_999_950_000)
    }

    @Test func afterSucceedsOnItsQueueNotBeforeTheInterval() async {
        let queue = DispatchQueue(label: "after")
        let start = DispatchTime.now()
        let future = Future.after(seconds: 0.02, on: queue).map {
            dispatchPrecondition(condition: .onQueue(queue))
            return DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds
        }
        #expect(future.value == nil)
        #expect(await future.settled().get() >= 20_000_000)
        #expect(await Future.after(.milliseconds(1)).map { 1 }.settled() == .success(1))
    }
}

@Suite struct RetryTests {
    /// Defect 27: retries used to lack jitter and cancellation.
    @Test func policyDecidesWithJitterAndCancellationEndsTheWait() async {
        let source = CancellationTokenSource()
        let draws = Mutex(0)
        let policy = RetryPolicy(tries: 9, delay: .constant(.seconds(3600)), jitter: .full, failures: .any)
        let draw = { @Sendable in
            draws.withLock { $0 += 1 }
            return 1.0
        }
        let future = Future<Int, Failed>.retry(policy, cancellation: source.token, random: draw) {
            Future<Int, Failed>(error: Failed(6))
        }
        #expect(future.result == nil)
        source.cancel()
        #expect(future.error == Failed(6))
        #expect(draws.withLock { $0 } == 1)
    }

    @Test func policyStopsAtFailuresThatARetryCannotHelp() {
        struct Final: OperationFailure {
            var code: String { "final" }
            var isRetryable: Bool { false }
            var description: String { "final" }
        }
        let calls = Shared(0)
        let future = Future<Int, Final>.retry(.standard) {
            calls.value += 1
            return Future(error: Final())
        }
        #expect(future.error != nil)
        #expect(calls.value == 1)
    }
}
