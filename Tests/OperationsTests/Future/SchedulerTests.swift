import Dispatch
import Operations
import Signals
import Synchronization
import Testing

/// Serialized because the process has one default scheduler. Other suites use it only on the main thread, and these
/// tests restore it before they leave that thread.
@Suite(.serialized) struct SchedulerTests {
    /// Defect 23: on a server nothing runs the main queue, and changing the default was unsafe.
    @Test @MainActor func defaultIsReadWhenTheCallbackIsAttached() {
        let original = Scheduler.default
        let promise = Promise<Int, Never>()
        let calls = Shared<[String]>([])
        Scheduler.default = { work in
            calls.value.append("custom")
            work()
        }
        promise.future.on { _ in calls.value.append("A") }
        Scheduler.default = original
        promise.future.on { _ in calls.value.append("B") }
        promise.succeed(value: 1)
        #expect(calls.value == ["custom", "A", "B"])
        calls.value = []
        promise.future.on { _ in calls.value.append("C") }
        #expect(calls.value == ["C"])
    }

    @Test @MainActor func defaultDoesNotAffectTransformations() {
        let original = Scheduler.default
        defer { Scheduler.default = original }
        Scheduler.default = { _ in Issue.record("used by a transformation") }
        let promise = Promise<Int, Never>()
        let mapped = promise.future.map { $0 + 1 }.flatMap { Future(value: $0) }
        promise.succeed(value: 1)
        #expect(mapped.value == 2)
        #expect(mapped.wait() == .success(2))
    }

    @Test func immediateIsInlineOnAnyThread() async {
        let isInline = await onThread {
            let isInline = Shared(false)
            Future(value: 1).observe(on: Scheduler.immediate).on { _ in isInline.value = true }
            return isInline.value
        }
        #expect(isInline)
    }

    @Test func asyncRunsOnItsQueue() async {
        let queue = DispatchQueue(label: "scheduler")
        let done = Signal()
        let schedule = Scheduler.async(on: queue, flags: .barrier)
        schedule {
            dispatchPrecondition(condition: .onQueue(queue))
            done.send()
        }
        #expect(await done.wait())
    }

    @Test @MainActor func mainIsInlineOnMain() {
        let isInline = Shared(false)
        Scheduler.main { isInline.value = true }
        #expect(isInline.value)
    }

    @Test func mainIsAsynchronousElsewhereAndKeepsTheOrderOfTheMainQueue() async {
        let log = Log()
        let done = Signal()
        await onThread {
            Scheduler.main { log.add("1") }
            DispatchQueue.main.async { log.add("2") }
            Scheduler.main { log.add("3") }
            DispatchQueue.main.async { done.send() }
        }
        #expect(await done.wait())
        #expect(log.all == ["1", "2", "3"])
    }
}
