import Dispatch
import Foundation
import Operations
import Signals
import Synchronization
import Testing

@Suite struct CallbackTests {
    @Test @MainActor func knownResultCallsBackBeforeOnReturnsOnMain() {
        let calls = Shared<[String]>([])
        Future<Int, Failed>(value: 1).on(
            success: { calls.value.append("success \($0)") }, failure: { _ in calls.value.append("failure") },
            completion: { calls.value.append("completion") })
        #expect(calls.value == ["success 1", "completion"])
    }

    @Test @MainActor func failureThenCompletion() {
        let calls = Shared<[String]>([])
        Future<Int, Failed>(error: Failed(7)).on(
            success: { _ in calls.value.append("success") }, failure: { calls.value.append("failure \($0.number)") },
            completion: { calls.value.append("completion") })
        #expect(calls.value == ["failure 7", "completion"])
    }

    @Test @MainActor func trailingClosureWithAParameterMeansSuccess() {
        let value = Shared(0)
        Future(value: 3).on { value.value = $0 }
        #expect(value.value == 3)
    }

    @Test @MainActor func trailingClosureWithoutParameterMeansCompletion() {
        let count = Shared(0)
        Future(value: 3).on { count.value += 1 }
        Future(value: ()).on { count.value += 1 }
        Future<Int, Failed>(error: Failed()).on { count.value += 1 }
        #expect(count.value == 3)
    }

    @Test @MainActor func pendingCallbacksRunInOrderOfAttachment() {
        let promise = Promise<Int, Never>()
        let calls = Shared<[String]>([])
        promise.future.on { _ in calls.value.append("A") }
        _ = promise.future.map { _ in calls.value.append("map") }
        promise.future.on { _ in calls.value.append("B") }
        promise.succeed(value: 1)
        #expect(calls.value == ["A", "map", "B"])
    }

    /// Defect 25: a callback attached inside another one used to run before the older ones.
    @Test @MainActor func callbackAttachedInsideACallbackRunsAfterTheOlderOnes() {
        let promise = Promise<Int, Never>()
        let calls = Shared<[String]>([])
        promise.future.on { _ in
            calls.value.append("A")
            promise.future.on { _ in calls.value.append("nested") }
            #expect(calls.value.last == "nested", "a known result calls.value back before on returns")
        }
        promise.future.on { _ in calls.value.append("B") }
        promise.future.on { _ in calls.value.append("C") }
        promise.succeed(value: 1)
        #expect(calls.value == ["A", "B", "C", "nested"])
    }

    /// Defect 25: a callback attached on the main thread used to run before callbacks that were waiting for that
    /// thread.
    @Test @MainActor func callbackAttachedOnMainDoesNotOvertakeThoseThatWaitForMain() {
        let promise = Promise<Int, Never>()
        let calls = Shared<[String]>([])
        promise.future.on { _ in calls.value.append("A") }
        promise.future.on { _ in calls.value.append("B") }
        background.sync { promise.succeed(value: 1) }
        #expect(calls.value.isEmpty)
        #expect(promise.future.value == 1, "visible while callbacks wait")
        promise.future.on { _ in calls.value.append("C") }
        #expect(calls.value == ["A", "B", "C"])
    }

    /// Main delivers the older callbacks first, so the resolving thread finds none; later callbacks must still be
    /// delivered.
    @Test @MainActor func callbackComesAfterMainTookOlderOnesAlong() async {
        let delivered = Signal()
        // A suspension would let another test change the default scheduler.
        func takeAlong() {
            let promise = Promise<Int, Never>()
            let future = promise.future
            let calls = Shared<[String]>([])
            let (resolving, taken, resolved) = (Signal(), Signal(), Signal())
            // Holds the resolving thread between storing the result and calling back.
            let held = future.map { number in
                resolving.send()
                return taken.wait() ? number : 0
            }
            future.on { _ in calls.value.append("A") }
            Thread {
                promise.succeed(value: 1)
                resolved.send()
            }.start()
            #expect(resolving.wait())
            future.on { _ in calls.value.append("B") }
            #expect(calls.value == ["A", "B"])
            taken.send()
            #expect(resolved.wait())
            #expect(held.value == 1)
            background.sync { future.on { _ in delivered.send() } }
        }
        takeAlong()
        #expect(await delivered.wait())
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
        let isInline = Shared(false)
        _ = direct.map { _ in isInline.value = true }
        #expect(isInline.value)
    }

    @Test func observeDoesNotAffectTheOriginal() {
        let queue = DispatchQueue(label: "observed")
        let future = Future(value: 1)
        _ = future.observe(on: queue)
        let isInline = Shared(false)
        _ = future.map { _ in isInline.value = true }
        #expect(isInline.value)
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
