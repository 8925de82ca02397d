import Dispatch
import Operations
import Signals
import Synchronization
import Testing

@Suite struct CallbackTests {
    /// Runs as the main thread does.
    @Test @MainActor func knownResultCallsBackBeforeOnReturnsOnMain() {
        var calls: [String] = []
        Future<Int, Failed>(value: 1).on(
            success: { calls.append("success \($0)") }, failure: { _ in calls.append("failure") },
            completion: { calls.append("completion") })
        #expect(calls == ["success 1", "completion"])
    }

    @Test @MainActor func failureThenCompletion() {
        var calls: [String] = []
        Future<Int, Failed>(error: Failed(7)).on(
            success: { _ in calls.append("success") }, failure: { calls.append("failure \($0.number)") },
            completion: { calls.append("completion") })
        #expect(calls == ["failure 7", "completion"])
    }

    @Test @MainActor func trailingClosureWithAParameterMeansSuccess() {
        var value = 0
        Future(value: 3).on { value = $0 }
        #expect(value == 3)
    }

    @Test @MainActor func trailingClosureWithoutParameterMeansCompletion() {
        var count = 0
        Future(value: 3).on { count += 1 }
        Future(value: ()).on { count += 1 }
        Future<Int, Failed>(error: Failed()).on { count += 1 }
        #expect(count == 3)
    }

    @Test @MainActor func pendingCallbacksRunInOrderOfAttachment() {
        let promise = Promise<Int, Never>()
        var calls: [String] = []
        promise.future.on { _ in calls.append("A") }
        _ = promise.future.map { _ in calls.append("map") }
        promise.future.on { _ in calls.append("B") }
        promise.succeed(value: 1)
        #expect(calls == ["A", "map", "B"])
    }

    /// Defect 25: a callback attached inside another used to overtake the older ones.
    @Test @MainActor func callbackAttachedInsideACallbackRunsAfterTheOlderOnes() {
        let promise = Promise<Int, Never>()
        var calls: [String] = []
        promise.future.on { _ in
            calls.append("A")
            promise.future.on { _ in calls.append("nested") }
            #expect(calls.last == "nested", "a known result calls back before on returns")
        }
        promise.future.on { _ in calls.append("B") }
        promise.future.on { _ in calls.append("C") }
        promise.succeed(value: 1)
        #expect(calls == ["A", "B", "C", "nested"])
    }

    /// Defect 25: after a resolution on another thread, a callback attached on the main thread used to overtake.
    @Test @MainActor func callbackAttachedOnMainDoesNotOvertakeThoseThatWaitForMain() {
        let promise = Promise<Int, Never>()
        var calls: [String] = []
        promise.future.on { _ in calls.append("A") }
        promise.future.on { _ in calls.append("B") }
        background.sync { promise.succeed(value: 1) }
        #expect(calls.isEmpty)
        #expect(promise.future.value == 1, "visible while callbacks wait")
        promise.future.on { _ in calls.append("C") }
        #expect(calls == ["A", "B", "C"])
    }

    @Test func callbackFromAnotherThreadRunsOnMain() async {
        let done = Signal()
        let onMain = Mutex(false)
        Future(value: 1).on { _ in
            DispatchQueue.main.async { done.send() }
            onMain.withLock { $0 = true }
            dispatchPrecondition(condition: .onQueue(.main))
        }
        #expect(await done.wait())
        #expect(onMain.withLock { $0 })
    }

    @Test func observeOnAQueueIsAlwaysAsynchronousAndThere() async {
        let queue = DispatchQueue(label: "observed")
        let done = Signal()
        let isSynchronous = Mutex(true)
        queue.sync {
            Future(value: 1).observe(on: queue).on { _ in
                dispatchPrecondition(condition: .onQueue(queue))
                isSynchronous.withLock { #expect(!$0) }
                done.send()
            }
            isSynchronous.withLock { $0 = false }
        }
        #expect(await done.wait())
    }

    @Test func transformationsDirectlyAfterObserveRunThereAndDerivedOnesDoNot() async {
        let queue = DispatchQueue(label: "observed")
        let promise = Promise<Int, Failed>()
        let direct = promise.future.observe(on: queue).map { value in
            dispatchPrecondition(condition: .onQueue(queue))
            return value
        }
        let flat = promise.future.observe(on: queue).flatMap { value in
            dispatchPrecondition(condition: .onQueue(queue))
            return Future<Int, Failed>(value: value)
        }
        promise.succeed(value: 1)
        #expect(await direct.settled() == .success(1))
        #expect(await flat.settled() == .success(1))
        var isInline = false
        _ = direct.map { _ in isInline = true }
        #expect(isInline)
    }

    @Test func observeDoesNotAffectTheOriginal() {
        let queue = DispatchQueue(label: "observed")
        let future = Future(value: 1)
        _ = future.observe(on: queue)
        var isInline = false
        _ = future.map { _ in isInline = true }
        #expect(isInline)
    }

    @Test func transformationsRunOnTheResolvingThread() {
        let promise = Promise<Int, Failed>()
        let mapped = promise.future.map { value in
            dispatchPrecondition(condition: .onQueue(background))
            return value
        }
        background.sync { promise.succeed(value: 1) }
        #expect(mapped.value == 1)
    }

    @Test func handlersAreReleasedAfterTheyRanAndTheResultStays() async {
        let gone = Signal()
        let promise = Promise<Int, Never>()
        let future = promise.future
        attach(future, Canary { gone.send() })
        promise.succeed(value: 1)
        #expect(await gone.wait())
        #expect(future.value == 1)
    }

    private func attach(_ future: Future<Int, Never>, _ canary: Canary) {
        _ = future.map { _ in canary.touch() }
        future.observe(on: background).on { _ in canary.touch() }
    }

    @Test func droppedPromiseFreesWhatWaitsForIt() async {
        let gone = Signal()
        weak var downstream: Promise<Int, Never>?
        do {
            let promise = Promise<Int, Never>()
            let canary = Canary { gone.send() }
            let last = Promise<Int, Never>()
            downstream = last
            promise.future.on { value in
                canary.touch()
                last.succeed(value: value)
            }
            _ = promise.future.map { $0 }.flatMap { Future<Int, Never>(value: $0) }
        }
        #expect(await gone.wait())
        #expect(downstream == nil)
    }
}
