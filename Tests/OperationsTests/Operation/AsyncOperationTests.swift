import Dispatch
import Foundation
import Operations
import Signals
import Synchronization
import Testing

/// An operation that a test finishes from any thread.
final class Gated: AsyncOperation, @unchecked Sendable {
    let started = Signal()
    private let runs = Mutex(0)
    var mainRuns: Int { runs.withLock { $0 } }

    override func main() {
        runs.withLock { $0 += 1 }
        started.send()
    }
}

/// An operation that finishes inside `main()`.
final class Noted: AsyncOperation, @unchecked Sendable {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void = {}) { self.body = body }
    override func main() {
        body()
        finish()
    }
}

@Suite struct AsyncOperationTests {
    @Test func lastsUntilFinish() async {
        let queue = OperationQueue()
        let operation = Gated()
        queue.addOperation(operation)
        #expect(await operation.started.wait())
        #expect(operation.isExecuting && !operation.isFinished && operation.isAsynchronous)
        operation.finish()
        #expect(!operation.isExecuting && operation.isFinished)
        await onThread { queue.waitUntilAllOperationsAreFinished() }
    }

    /// Defect 1: a second start used to run `main()` again and reset `isFinished`.
    @Test func startingAgainDoesNothing() {
        let operation = Gated()
        operation.start()
        operation.start()
        operation.finish()
        operation.start()
        #expect(operation.mainRuns == 1)
        #expect(operation.isFinished)
    }

    @Test func concurrentStartsRunMainOnce() async {
        for _ in 0..<50 {
            let operation = Gated()
            await withTaskGroup { group in
                for _ in 0..<4 { group.addTask { operation.start() } }
            }
            operation.finish()
            #expect(operation.mainRuns == 1)
        }
    }

    /// Defect 2: finishing twice, or before the start, used to corrupt the queue's counts.
    @Test func finishIsIdempotentAndMayComeBeforeTheStart() async {
        let operation = Gated()
        operation.finish()
        #expect(operation.isFinished)
        operation.start()
        #expect(operation.mainRuns == 0)

        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let early = Gated()
        let dependent = Noted()
        dependent.addDependency(early)
        queue.addOperation(early)
        queue.addOperation(dependent)
        early.finish()
        early.finish()
        #expect(!dependent.isFinished)
        queue.isSuspended = false
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(early.mainRuns == 0)
        #expect(dependent.isFinished)
        #expect(queue.operations.isEmpty)
    }

    @Test func concurrentFinishesCountOnce() async {
        let queue = OperationQueue()
        for _ in 0..<50 {
            let operation = Gated()
            let completions = Mutex(0)
            let done = Signal()
            operation.completionBlock = {
                completions.withLock { $0 += 1 }
                done.send()
            }
            queue.addOperation(operation)
            #expect(await operation.started.wait())
            await withTaskGroup { group in
                for _ in 0..<4 { group.addTask { operation.finish() } }
            }
            #expect(await done.wait())
            await onThread { queue.waitUntilAllOperationsAreFinished() }
            #expect(completions.withLock { $0 } == 1)
        }
    }

    /// Defect 3: `isExecuting` and `isFinished` used to change in two steps, so an observer could see both set.
    @Test func noObserverSeesBothExecutingAndFinished() async {
        for _ in 0..<200 {
            let operation = Gated()
            operation.start()
            async let sawBoth = onThread {
                while !operation.isFinished {}
                return operation.isExecuting
            }
            operation.finish()
            #expect(await !sawBoth)
        }
    }

    // The sanitizer needs additional memory for each byte.
    #if !SANITIZED
        /// Defect 4: every operation used to have its own dispatch queue as a lock.
        @Test func operationTakesHardlyMoreMemoryThanAPlainOne() async {
            await #expect(processExitsWith: .success) {
                let count = 50_000
                var kept: [Operation] = []
                kept.reserveCapacity(2 * count)
                func bytes(_ make: () -> Operation) throws -> Int {
                    func resident() throws -> Int {
                        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(
                            separator: " ")[1]
                        return try #require(Int(pages)) * 4096
                    }
                    // Operations are kept, so that a new one cannot reuse the memory of an old one.
                    let before = try resident()
                    for _ in 0..<count { kept.append(make()) }
                    return try resident() - before
                }
                let plain = try bytes { Operation() }
                let ours = try bytes { Noted() }
                precondition(plain > 0 && ours - plain <= 250 * count, "\(ours) against \(plain)")
            }
        }
    #endif

    @Test func cancelledBeforeTheStartItFinishesWithoutMain() async {
        let operation = Gated()
        operation.cancel()
        #expect(operation.isCancelled && !operation.isFinished, "outside a queue it finishes when it is started")
        operation.start()
        #expect(operation.isFinished && operation.mainRuns == 0)
    }

    @Test func cancelledInAQueueItIsReadyAtOnceAndItsDependentsRun() async {
        let queue = OperationQueue()
        let never = Gated()
        let cancelled = Gated()
        let dependent = Noted()
        cancelled.addDependency(never)
        dependent.addDependency(cancelled)
        for operation in [cancelled, dependent] as [Operation] { queue.addOperation(operation) }
        cancelled.cancel()
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(cancelled.isFinished && cancelled.mainRuns == 0)
        #expect(dependent.isFinished)
    }

    @Test func lateCancelChangesNothing() {
        let operation = Noted()
        operation.start()
        operation.cancel()
        #expect(!operation.isCancelled)
    }

    /// Defect 15: a cancellation between the check and the creation of the underlying task used to be lost.
    @Test func registrationMissesNoCancellation() {
        let operation = Gated()
        operation.start()
        operation.cancel()
        let isStopped = Shared(false)
        operation.cancellation.register { isStopped.value = true }
        #expect(isStopped.value)
    }

    @Test func registeredStopRunsWhenCancelled() {
        let operation = Gated()
        operation.start()
        let isStopped = Shared(false)
        operation.cancellation.register { isStopped.value = true }
        #expect(!isStopped.value)
        operation.cancel()
        #expect(isStopped.value)
    }

    /// Defect 16: a manually started operation without other references used to be released while executing.
    @Test func executingOperationKeepsItselfAlive() {
        let gate = Mutex<(@Sendable () -> Void)?>(nil)
        let gone = Mutex(false)
        final class Unheld: AsyncOperation, @unchecked Sendable {
            let canary: Canary
            let store: (@escaping @Sendable () -> Void) -> Void
            init(canary: Canary, store: @escaping (@escaping @Sendable () -> Void) -> Void) {
                self.canary = canary
                self.store = store
            }
            override func main() { store { [weak self] in self?.finish() } }
        }
        Unheld(canary: Canary { gone.withLock { $0 = true } }) { finish in gate.withLock { $0 = finish } }.start()
        #expect(!gone.withLock { $0 })
        gate.withLock { $0.take() }?()
        #expect(gone.withLock { $0 })
    }

    @Test func whatStopsTheWorkIsReleasedAtTheEndThoughItHoldsTheOperation() {
        let gone = Mutex(false)
        do {
            let canary = Canary { gone.withLock { $0 = true } }
            let operation = Noted { canary.touch() }
            operation.cancellation.register { _ = operation }
            operation.start()
            #expect(operation.isFinished)
        }
        #expect(gone.withLock { $0 })
    }

    /// Defect 5: completion must be visible without key-value observing, which Linux lacks.
    @Test func completionBlockDependentsAndWaitersLearnOfTheFinish() async {
        let operation = Gated()
        let completed = Signal()
        operation.completionBlock = { completed.send() }
        operation.start()
        async let waited: Void = onThread { operation.waitUntilFinished() }
        operation.finish()
        await waited
        #expect(await completed.wait())
    }

    /// Defect 7: the message for a missing `main()` used to name a nonexistent method.
    @Test func missingMainTrapsWithAClearMessage() async throws {
        let result = try await #require(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { AsyncOperation().start() }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("override main()"))
    }

    @Test func droppedOperationLeavesNoPointerInItsDependency() async {
        let first = Gated()
        do {
            let second = Noted()
            second.addDependency(first)
        }
        first.start()
        first.finish()
        #expect(first.isFinished)
    }

    @Test func longChainOfDependenciesIsDroppedWithoutRecursion() async {
        await onThread {
            var last: AsyncOperation = Noted()
            for _ in 0..<100_000 {
                let next = Noted()
                next.addDependency(last)
                last = next
            }
        }
    }
}
