import Dispatch
import Foundation
import Operations
import Signals
import Synchronization
import Testing

enum WorkError: CancellationFailure, Equatable {
    case cancelled
    case failed(Int)
}

/// An operation that a test finishes.
final class Work: AsyncResultOperation<Int, WorkError>, @unchecked Sendable {
    let started = Signal()
    override func main() { started.send() }
}

/// An operation that finishes immediately with the given outcome.
final class Produce: AsyncResultOperation<Int, WorkError>, @unchecked Sendable {
    let outcome: Result<Int, WorkError>
    init(_ outcome: Result<Int, WorkError>) { self.outcome = outcome }
    override func main() { finish(with: outcome) }
}

final class Describe: ChainedAsyncResultOperation<Int, String, WorkError>, @unchecked Sendable {
    private let ran = Mutex(false)
    var mainRan: Bool { ran.withLock { $0 } }
    override func main() {
        ran.withLock { $0 = true }
        finish(with: input.map { .success("\($0)") } ?? .failure(.failed(-1)))
    }
}

@Suite struct ResultOperationTests {
    @Test func resultIsVisibleBeforeTheFinish() async {
        let queue = OperationQueue()
        let work = Work()
        let seen = Mutex<[Result<Int, WorkError>?]>([])
        let done = Signal()
        work.onResult = { result in seen.withLock { $0.append(work.isFinished ? nil : result) } }
        work.completionBlock = {
            seen.withLock { $0.append(work.result) }
            done.send()
        }
        let dependent = Noted { seen.withLock { $0.append(work.result) } }
        dependent.addDependency(work)
        for operation in [work, dependent] as [Operation] { queue.addOperation(operation) }
        #expect(await work.started.wait())
        work.finish(with: .success(1))
        #expect(work.isFinished)
        #expect(await done.wait())
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(seen.withLock { $0 } == [.success(1), .success(1), .success(1)])
    }

    /// Defect 9: a plain cancel, and therefore `cancelAllOperations()`, used to kill the process.
    @Test func cancelAllNeedsNoOverride() async {
        let queue = OperationQueue()
        let executing = Work()
        let waiting = Work()
        waiting.addDependency(executing)
        for operation in [executing, waiting] as [Operation] { queue.addOperation(operation) }
        #expect(await executing.started.wait())
        queue.cancelAllOperations()
        executing.finish(with: .success(1))
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(executing.result == .failure(.cancelled))
        #expect(waiting.result == .failure(.cancelled))
    }

    @Test func failureTypesWithoutAWordForItAreCancelledWithoutAResult() {
        final class Silent: AsyncResultOperation<Int, Failed>, @unchecked Sendable { override func main() {} }
        final class Spoken: AsyncResultOperation<Int, Failed>, @unchecked Sendable {
            override func main() {}
            override var cancellationFailure: Failed? { Failed(99) }
        }
        let silent = Silent()
        silent.cancel()
        silent.start()
        #expect(silent.isCancelled && silent.isFinished && silent.result == nil)
        let spoken = Spoken()
        spoken.cancel()
        #expect(spoken.result == .failure(Failed(99)))
    }

    /// Defect 10: a late cancel used to replace the success.
    @Test func cancelAfterTheFinishChangesNothing() {
        let work = Work()
        work.start()
        work.finish(with: .success(1))
        work.cancel(with: .failed(2))
        work.cancel()
        #expect(work.result == .success(1))
        #expect(!work.isCancelled)
    }

    /// Defect 11: a finish after a cancellation used to replace it.
    @Test func finishAfterACancelEndsTheOperationAndKeepsTheCancellation() {
        let work = Work()
        work.start()
        work.cancel(with: .failed(2))
        #expect(!work.isFinished, "cancelling is cooperative")
        work.finish(with: .success(1))
        #expect(work.isFinished && work.isCancelled)
        #expect(work.result == .failure(.failed(2)))
    }

    /// Defect 12: the result used to be set without a lock.
    @Test func oneOfManyConcurrentOutcomesWins() async {
        for _ in 0..<100 {
            let work = Work()
            work.start()
            let calls = Mutex<[Result<Int, WorkError>]>([])
            work.onResult = { result in calls.withLock { $0.append(result) } }
            await withTaskGroup { group in
                group.addTask { work.finish(with: .success(1)) }
                group.addTask { work.finish(with: .failure(.failed(3))) }
                group.addTask { work.cancel(with: .failed(2)) }
                group.addTask { work.cancel() }
            }
            #expect(work.isFinished)
            #expect(calls.withLock { $0 } == [work.result])
        }
    }

    /// Defect 13: `finish()` without a result used to trap unless the operation was cancelled.
    @Test func finishWithoutAResultIsLegalAndFinal() {
        let work = Work()
        work.start()
        work.finish()
        #expect(work.isFinished && work.result == nil)
        work.finish(with: .success(1))
        work.cancel(with: .cancelled)
        #expect(work.result == nil)
    }

    /// Defect 14: callers waiting for the result of an operation cancelled outside a queue are resumed immediately.
    @Test func cancelOutsideAQueueIsKnownToThoseWhoWaitForTheResult() async {
        let work = Work()
        work.cancel()
        #expect(work.result == .failure(.cancelled))
        await #expect(throws: WorkError.cancelled) { try await work.value() }
        work.start()
        #expect(work.isFinished)
    }

    /// Defect 10: `isCancelled` used to contradict the result.
    @Test func cancelledIsWhatTheResultSays() async {
        for _ in 0..<300 {
            let work = Work()
            work.start()
            await withTaskGroup { group in
                group.addTask { work.finish(with: .success(1)) }
                group.addTask { work.cancel() }
            }
            #expect(work.isCancelled == (work.result == .failure(.cancelled)))
        }
        let work = Work()
        work.onResult = { [unowned work] _ in #expect(work.isCancelled) }
        work.cancel()
    }

    @Test func waitersAndClosuresDoNotKeepTheOperation() async {
        final class Held: AsyncResultOperation<Int, WorkError>, @unchecked Sendable {
            let canary: Canary
            init(_ canary: Canary) { self.canary = canary }
            override func main() { finish() }
        }
        let gone = Mutex(0)
        func make() -> Held { Held(Canary { gone.withLock { $0 += 1 } }) }
        do {
            let cancelled = make()
            cancelled.onResult = { _ in _ = cancelled.result }
            cancelled.cancel()
            await #expect(throws: WorkError.cancelled) { try await cancelled.value() }
        }
        do {
            let silent = make()
            silent.onResult = { _ in _ = silent.result }
            _ = silent.future.map { _ in silent.result }
            silent.start()
        }
        #expect(gone.withLock { $0 } == 2)
    }

    @Test func onResultSetLateIsCalledAtOnce() {
        let work = Work()
        work.start()
        work.finish(with: .success(1))
        let seen = Shared<Result<Int, WorkError>?>(nil)
        work.onResult = { seen.value = $0 }
        #expect(seen.value == .success(1))
    }
}

@Suite struct ChainedOperationTests {
    private func run(_ operations: [Operation]) async {
        let queue = OperationQueue()
        await onThread { queue.addOperations(operations, waitUntilFinished: true) }
    }

    @Test func explicitInputWins() async {
        let first = Produce(.success(1))
        let second = Describe(input: 5)
        second.addDependency(first)
        await run([second, first])
        #expect(second.result == .success("5"))
    }

    /// Defect 17: a plain result operation as dependency used to be ignored.
    @Test func inputIsTheOutputOfTheFirstDependencyThatFits() async {
        final class Words: AsyncResultOperation<String, WorkError>, @unchecked Sendable {
            override func main() { finish(with: .success("word")) }
        }
        let words = Words()
        let failed = Produce(.failure(.failed(1)))
        let one = Produce(.success(1))
        let two = Produce(.success(2))
        let last = Describe()
        for dependency in [Noted(), words, failed, one, two] as [Operation] { last.addDependency(dependency) }
        await run(last.dependencies + [last])
        #expect(last.result == .success("1"))
        #expect(last.input == 1)
    }

    /// Defect 17: with two dependencies of the same output type, or of type `Any`, a cast cannot determine the intended
    /// one.
    @Test func namedSupplierWinsOverTheOrderOfDependencies() async {
        let one = Produce(.success(1))
        let two = Produce(.success(2))
        let last = Describe()
        last.addDependency(one)
        last.addDependency(supplyingInput: two)
        await run([one, two, last])
        #expect(last.result == .success("2"))
    }

    /// Defect 17: "missing input" used to replace the cause.
    @Test func upstreamFailureAndCancellationArePropagated() async {
        let failed = Produce(.failure(.failed(7)))
        let middle = Describe()
        middle.addDependency(failed)
        final class Count: ChainedAsyncResultOperation<String, Int, WorkError>, @unchecked Sendable {
            override func main() { finish(with: .success(input?.count ?? -1)) }
        }
        let last = Count()
        last.addDependency(middle)
        await run([failed, middle, last])
        #expect(last.result == .failure(.failed(7)))
        #expect(!middle.mainRan)

        let cancelled = Work()
        cancelled.cancel()
        let after = Describe()
        after.addDependency(cancelled)
        await run([cancelled, after])
        #expect(after.result == .failure(.cancelled))
        #expect(!after.mainRan)
    }

    @Test func foreignFailureIsTranslatedWhereTheSubclassSaysHow() async {
        final class Foreign: AsyncResultOperation<Int, Failed>, @unchecked Sendable {
            override func main() { finish(with: .failure(Failed(4))) }
        }
        final class Translating: ChainedAsyncResultOperation<Int, Int, WorkError>, @unchecked Sendable {
            override func main() { finish(with: .success(0)) }
            override func failure(fromUpstream error: any Error) -> WorkError? {
                (error as? Failed).map { .failed($0.number) }
            }
        }
        let foreign = Foreign()
        let translating = Translating()
        translating.addDependency(foreign)
        let untranslated = Describe()
        untranslated.addDependency(foreign)
        await run([foreign, translating, untranslated])
        #expect(translating.result == .failure(.failed(4)))
        #expect(untranslated.result == .failure(.failed(-1)), "main sees no input")
    }

    /// The cause used to be lost if the failure types differed and the operation did not override
    /// `failure(fromUpstream:)`.
    @Test func causeIsPassedOnAlthoughFailureTypesDiffer() async {
        final class Foreign: AsyncResultOperation<Int, Failed>, @unchecked Sendable {
            override func main() { finish(with: .failure(Failed(4))) }
        }
        enum Holding: UpstreamFailure, Equatable {
            case caused(Failed?)
            static func upstream(_ error: any Error) -> Holding { .caused(error as? Failed) }
        }
        final class Holder: ChainedAsyncResultOperation<Int, Int, Holding>, @unchecked Sendable {
            override func main() { Issue.record("there is no input") }
        }
        final class AnyFailure: ChainedAsyncResultOperation<Int, Int, any Error>, @unchecked Sendable {
            override func main() { Issue.record("there is no input") }
        }
        let foreign = Foreign()
        let cancelled = Foreign()
        cancelled.cancel()
        let plain = Describe()
        let holder = Holder()
        let any = AnyFailure()
        for operation in [plain, holder, any] as [Operation] { operation.addDependency(foreign) }
        let typed = Doubling().operation(missingInput: .failed(-2))
        typed.addDependency(supplyingInput: foreign)
        let afterCancelled = Describe()
        afterCancelled.addDependency(cancelled)
        await run([foreign, cancelled, plain, holder, any, typed, afterCancelled])
        #expect(plain.upstreamFailure as? Failed == Failed(4))
        #expect(holder.result == .failure(.caused(Failed(4))))
        #expect(throws: Failed(4)) { try any.result?.get() }
        #expect(typed.result == .failure(.failed(-2)) && typed.upstreamFailure as? Failed == Failed(4))
        #expect(afterCancelled.upstreamFailure is CancellationError)

        let good = Produce(.success(1))
        let after = Describe()
        after.addDependency(foreign)
        after.addDependency(good)
        await run([good, after])
        #expect(after.result == .success("1") && after.upstreamFailure == nil)
    }

    @Test func nobodySuppliesMeansNil() async {
        let alone = Describe()
        await run([alone])
        #expect(alone.result == .failure(.failed(-1)))
    }
}
