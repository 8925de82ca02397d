import Dispatch
import Operations
import Signals
import Synchronization
import Testing

/// Defect 26: long chains used to recurse once per member or take quadratic time. Each test runs on a secondary thread,
/// whose stack is small.
@Suite struct LongChainTests {
    /// A shorter length keeps the test fast under the thread sanitizer, which tracks every lock.
    static let length = isSanitized ? 5000 : 100_000

    @Test func resolvingALongChain() async {
        let value = await onThread {
            let promise = Promise<Int, Failed>()
            var future = promise.future
            for _ in 0..<Self.length { future = future.map { $0 + 1 } }
            promise.succeed(value: 0)
            return future.value
        }
        #expect(value == Self.length)
    }

    @Test func resolvingALongChainOfFlatMaps() async {
        let value = await onThread {
            let promise = Promise<Int, Failed>()
            let gate = Promise<Int, Failed>()
            var future = promise.future
            for _ in 0..<Self.length { future = future.flatMap { value in gate.future.map { value + $0 } } }
            promise.succeed(value: 0)
            gate.succeed(value: 1)
            return future.value
        }
        #expect(value == Self.length)
    }

    @Test func resolvingALongChainThatASchedulerRunsInline() async {
        let value = await onThread {
            let promise = Promise<Int, Failed>()
            var future = promise.future
            for index in 0..<Self.length {
                let observed = future.observe(on: Scheduler.immediate)
                future =
                    index % 2 == 0
                    ? observed.map { $0 + 1 } : observed.flatMap { Future<Int, Failed>(value: $0 + 1) }
            }
            promise.succeed(value: 0)
            return future.value
        }
        #expect(value == Self.length)
    }

    @Test func droppingALongChain() async {
        let isGone = await onThread {
            let gone = Mutex(false)
            do {
                let promise = Promise<Int, Failed>()
                let canary = Canary { gone.withLock { $0 = true } }
                var future = promise.future
                for index in 0..<Self.length {
                    switch index % 3 {
                    case 0: future = future.map { $0 + 1 }
                    case 1: future = Future.zip(future, Future<Int, Failed>(value: 1)).map { $0.0 }
                    default: future = Future.zip([future, Future<Int, Failed>(value: 1)]).map { $0[0] }
                    }
                }
                future = future.map { value in
                    canary.touch()
                    return value
                }
            }
            return gone.withLock { $0 }
        }
        #expect(isGone)
    }

    @Test func droppingManyHandlersOfOnePromise() async {
        await onThread {
            let promise = Promise<Int, Failed>()
            for _ in 0..<Self.length {
                _ = promise.future.map { $0 }
                promise.future.on { _ in }
            }
        }
    }

    @Test func zippingALongArrayOfPendingFutures() async {
        let sum = await onThread {
            let promises = (0..<Self.length).map { _ in Promise<Int, Failed>() }
            let sum = Future.reduce(0, promises.map(\.future), +)
            for promise in promises.reversed() { promise.succeed(value: 1) }
            return sum.value
        }
        #expect(sum == Self.length)
    }
}

/// Closures that call back into their caller. Each level used to take a stack frame.
@Suite struct NestedCallTests {
    static let depth = LongChainTests.length

    @Test(arguments: [false, true]) func recursiveFlatMapOverKnownFutures(isObserved: Bool) async {
        @Sendable func count(_ number: Int, _ sum: Int) -> Future<Int, Failed> {
            let known = Future<Int, Failed>(value: number)
            let future = isObserved ? known.observe(on: Scheduler.immediate) : known
            return future.flatMap { $0 == 0 ? Future(value: sum) : count($0 - 1, sum + 1) }
        }
        let future = await onThread { count(Self.depth, 0) }
        #expect(future.value == Self.depth, "resolved before the outermost call returned")
    }

    @Test func recursiveFlatMapError() async {
        @Sendable func count(_ number: Int) -> Future<Int, Failed> {
            Future<Int, Failed>(error: Failed(number)).flatMapError {
                $0.number == 0 ? Future<Int, Failed>(value: 0) : count($0.number - 1)
            }
        }
        #expect(await onThread { count(Self.depth).value } == 0)
    }

    @Test func onInsideOn() async {
        let runs = Shared(0)
        @Sendable func descend(_ number: Int) {
            Future<Int, Failed>(value: number).observe(on: Scheduler.immediate).on {
                runs.value += 1
                if $0 > 0 { descend($0 - 1) }
            }
        }
        await onThread { descend(Self.depth) }
        #expect(runs.value == Self.depth + 1)
    }

    @Test @MainActor func onInsideOnOnTheMainThread() {
        let runs = Shared(0)
        @Sendable func descend(_ number: Int) {
            Future<Int, Failed>(value: number).on {
                runs.value += 1
                if $0 > 0 { descend($0 - 1) }
            }
        }
        descend(Self.depth)
        #expect(runs.value == Self.depth + 1)
        func descendPromises(_ number: Int) {
            let promises = (0...number).map { _ in Promise<Int, Failed>() }
            for index in 0..<number { promises[index].future.on { promises[index + 1].succeed(value: $0 + 1) } }
            promises[0].succeed(value: 0)
            #expect(promises[number].future.value == number)
        }
        descendPromises(Self.depth)
    }

    @Test func promisesThatResolveOneAnother() async {
        let value = await onThread {
            let promises = (0...Self.depth).map { _ in Promise<Int, Failed>() }
            for index in 0..<Self.depth {
                _ = promises[index].future.map { promises[index + 1].succeed(value: $0 + 1) }
            }
            promises[0].succeed(value: 0)
            return promises[Self.depth].future.value
        }
        #expect(value == Self.depth)
    }

    @Test func promisesThatHoldOneAnotherAreReleased() async {
        let isGone = await onThread {
            let gone = Shared(false)
            do {
                let canary = Canary { gone.value = true }
                var last = Promise<Int, Failed>()
                last.future.on { _ in canary.touch() }
                for _ in 0..<Self.depth {
                    let (promise, next) = (Promise<Int, Failed>(), last)
                    promise.future.on { next.succeed(value: $0) }
                    last = promise
                }
            }
            return gone.value
        }
        #expect(isGone)
    }

    /// A thread that waits inside a deep call runs the postponed calls, because its result may depend on one of them.
    @Test func waitingInsideADeepCallEnds() async {
        @Sendable func descend(_ number: Int) -> Future<Int, Failed> {
            Future<Int, Failed>(value: number).flatMap { number in
                if number > 0 { return descend(number - 1) }
                return Future(result: Future<Int, Failed>(value: 1).flatMap { Future(value: $0) }.wait())
            }
        }
        for depth in [10, 62, 63, 64, 65, 66, 127, 128, 200] {
            #expect(await onThread { descend(depth).wait() } == .success(1))
        }
    }
}

@Suite struct WaitTests {
    @Test func waitBlocksUntilResolved() async {
        let promise = Promise<Int, Failed>()
        let waiting = Signal()
        async let result = onThread {
            waiting.send()
            return promise.future.wait()
        }
        #expect(await waiting.wait())
        promise.fail(error: Failed(1))
        #expect(await result == .failure(Failed(1)))
        #expect(Future<Int, Failed>(value: 1).wait() == .success(1))
    }

    @Test @MainActor func nothingInternalNeedsTheMainThread() {
        @Sendable func later(_ result: Result<Int, Failed>) -> Future<Int, Failed> {
            Future { promise in background.async { promise.resolve(result: result) } }
        }
        #expect(later(.failure(Failed(1))).mapError { Failed($0.number + 1) }.wait() == .failure(Failed(2)))
        #expect(later(.failure(Failed(1))).flatMapError { later(.success($0.number)) }.wait() == .success(1))
        #expect(Future.zip([later(.success(1)), later(.success(2))]).wait() == .success([1, 2]))
        #expect(Future.reduce(0, [later(.success(1)), later(.success(2))], +).wait() == .success(3))
        #expect(
            Future.retry(RetryPolicy(tries: 2, failures: .any)) { later(.failure(Failed(1))) }.wait()
                == .failure(Failed(1)))
        #expect(later(.success(1)).observe(on: DispatchQueue.main).wait() == .success(1))
    }

    /// Defect 27: a transformation pinned to the main thread used to deadlock if the main thread waited for its result.
    @Test @MainActor func mainThreadDoesWhatWaitsForItWhileItWaits() {
        let promise = Promise<Int, Failed>()
        let pinned = promise.future.observe(on: DispatchQueue.main).map { $0 + 1 }
            .observe(on: Scheduler.main).flatMap { Future<Int, Failed>(value: $0 + 1) }
        background.async { promise.succeed(value: 1) }
        #expect(pinned.wait() == .success(3))
    }

    @Test func manyThreadsMayWaitForOneFuture() async {
        let promise = Promise<Int, Failed>()
        let values = await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { await onThread { promise.future.wait() } } }
            background.async { promise.succeed(value: 9) }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: .success(9), count: 4))
    }
}
