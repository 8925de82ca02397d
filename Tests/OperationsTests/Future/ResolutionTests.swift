import Dispatch
import Operations
import Synchronization
import Testing

@Suite struct ResolutionTests {
    @Test func firstResolutionWins() {
        let promise = Promise<Int, Failed>()
        promise.succeed(value: 1)
        promise.fail(error: Failed())
        promise.resolve(result: .success(2))
        #expect(promise.future.result == .success(1))
    }

    @Test func oneOfManyConcurrentResolutionsWinsAndIsFinal() async {
        for _ in 0..<50 {
            let promise = Promise<Int, Never>()
            let seen = Mutex<[Int]>([])
            let mapped = promise.future.map { value in
                seen.withLock { $0.append(value) }
                return value
            }
            await withTaskGroup { group in
                for value in 0..<8 { group.addTask { promise.succeed(value: value) } }
            }
            #expect(seen.withLock { $0 } == [promise.future.value])
            #expect(mapped.value == promise.future.value)
        }
    }

    @Test func resolvingFromInsideAHandlerIsIgnoredAndDoesNotDeadlock() {
        let promise = Promise<Int, Never>()
        let mapped = promise.future.map { value in
            promise.succeed(value: 5)
            return value
        }
        promise.succeed(value: 1)
        #expect(mapped.value == 1)
        #expect(promise.future.value == 1)
    }

    @Test func resultIsVisibleToEveryHandler() {
        let promise = Promise<Int, Never>()
        let mapped = promise.future.map { _ in promise.future.value }
        promise.succeed(value: 1)
        #expect(mapped.value == .some(1))
    }

    @Test func initializersResolveAtOnce() {
        #expect(Future<Int, Failed>(value: 1).value == 1)
        #expect(Future<Int, Failed>(error: Failed(2)).error == Failed(2))
        #expect(Future<Int, Failed>(result: .success(3)).result == .success(3))
    }

    @Test func valueWithoutContextCannotFail() {
        let future = Future(value: 1)
        let typed: Future<Int, Never> = future
        #expect(typed.value == 1)
    }

    @Test func throwingClosureChoosesTheThrowingInitializer() {
        let future = Future<Int, any Error> { throw Failed(3) }
        #expect(future.error as? Failed == Failed(3))
    }

    @Test func promiseClosureRunsOnceSynchronously() {
        var calls = 0
        let future = Future<Int, Failed> { promise in
            calls += 1
            promise.succeed(value: calls)
        }
        #expect(future.value == 1)
        #expect(calls == 1)
    }

    @Test func descriptionTellsTypesStateAndHandlers() {
        let promise = Promise<Int, Failed>()
        _ = promise.future.map { $0 }
        _ = promise.future.map { $0 }
        #expect(promise.debugDescription == "Promise<Int, Failed> { pending, handlers: 2 }")
        promise.succeed(value: 1)
        #expect(promise.debugDescription == "Promise<Int, Failed> { resolved: success(1) }")
    }
}
