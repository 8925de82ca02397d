import Dispatch
import Operations
import Signals
import Synchronization
import Testing

/// Defect 26: what used to recurse once for each member, or to take quadratic time. Each runs on a thread with the small
/// stack of a secondary thread.
@Suite struct LongChainTests {
    /// Under the sanitizer, which knows every lock, a length that can be waited for.
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
        func later(_ result: Result<Int, Failed>) -> Future<Int, Failed> {
            Future { promise in background.async { promise.resolve(result: result) } }
        }
        #expect(later(.failure(Failed(1))).mapError { Failed($0.number + 1) }.wait() == .failure(Failed(2)))
        #expect(later(.failure(Failed(1))).flatMapError { later(.success($0.number)) }.wait() == .success(1))
        #expect(Future.zip([later(.success(1)), later(.success(2))]).wait() == .success([1, 2]))
        #expect(Future.reduce(0, [later(.success(1)), later(.success(2))], +).wait() == .success(3))
        #expect(
            Future.retry(attempts: 2, delay: .seconds(0)) { later(.failure(Failed(1))) }.wait() == .failure(Failed(1)))
        #expect(later(.success(1)).observe(on: DispatchQueue.main).wait() == .success(1))
    }

    /// Defect 27: a transformation pinned to the main thread used to deadlock with a main thread that waits.
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
