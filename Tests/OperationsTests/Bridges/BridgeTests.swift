import Dispatch
import Foundation
import Operations
import Signals
import Synchronization
import Testing

/// Doubles a number, fails for a negative one, and for zero waits until it is cancelled.
struct Doubling: TypedOperation {
    let started = Signal()
    let sawCancellation = Signal()

    func run(_ input: Int, context: OperationContext) async throws(WorkError) -> Int {
        context.report(OperationProgress(completed: 1, total: 1, unit: "numbers"))
        if input < 0 { throw .failed(input) }
        if input > 0 { return input * 2 }
        await withCheckedContinuation { continuation in
            context.cancellation.register { continuation.resume() }
            started.send()
        }
        if Task.isCancelled { sawCancellation.send() }
        throw .failed(0)
    }
}

/// The API styles of one operation, each as a function from input to result with a cancellation token.
enum Style: CaseIterable {
    case awaited, future, operation, linearOperation, callback
    case fromFunction, fromFuture, fromCallback, fromOperation, fromLinearOperation, retried

    func run(_ work: Doubling, _ input: Int, _ cancellation: CancellationToken) async -> Result<Int, WorkError> {
        switch self {
        case .awaited:
            return await result { () async throws(WorkError) in try await work.value(input, cancellation: cancellation)
            }
        case .future:
            return await work.future(input, cancellation: cancellation).settled()
        case .operation, .linearOperation:
            let operation = work.operation(input)
            cancellation.register { operation.cancel() }
            if self == .operation {
                OperationQueue().addOperation(operation)
            } else {
                LinearOperationQueue().addOperation(operation)
            }
            return await result { () async throws(WorkError) in try await operation.value() }
        case .callback:
            return await withCheckedContinuation { continuation in
                work.start(input, cancellation: cancellation) { continuation.resume(returning: $0) }
            }
        case .fromFunction:
            return await adapted(
                AdaptedOperation { (input, context) async throws(WorkError) in
                    try await work.run(input, context: context)
                },
                input, cancellation)
        case .fromFuture:
            return await adapted(
                AdaptedOperation(future: { work.future($0, cancellation: $1.cancellation) }), input, cancellation)
        case .fromCallback:
            return await adapted(
                AdaptedOperation(callback: { work.start($0, cancellation: $1.cancellation, completion: $2) }), input,
                cancellation)
        case .fromOperation:
            return await adapted(
                AdaptedOperation(operation: { work.operation($0) }, on: OperationQueue()), input, cancellation)
        case .fromLinearOperation:
            return await adapted(
                AdaptedOperation(operation: { work.operation($0) }, on: LinearOperationQueue()), input, cancellation)
        case .retried:
            return await adapted(work.retrying(.never), input, cancellation)
        }
    }

    private func adapted(
        _ work: some TypedOperation<Int, Int, WorkError>, _ input: Int, _ cancellation: CancellationToken
    ) async -> Result<Int, WorkError> {
        await result { () async throws(WorkError) in try await work.value(input, cancellation: cancellation) }
    }

    private func result(_ body: () async throws(WorkError) -> Int) async -> Result<Int, WorkError> {
        do throws(WorkError) { return .success(try await body()) } catch { return .failure(error) }
    }
}

@Suite struct BridgeTests {
    @Test(arguments: Style.allCases) func valueArrives(style: Style) async {
        #expect(await style.run(Doubling(), 21, .none) == .success(42))
        #expect(await style.run(Doubling(), 21, CancellationTokenSource().token) == .success(42))
    }

    @Test(arguments: Style.allCases) func failureKeepsItsType(style: Style) async {
        #expect(await style.run(Doubling(), -3, .none) == .failure(.failed(-3)))
    }

    /// Defect 28: bridges between styles used to lose cancellation.
    @Test(arguments: Style.allCases) func cancellationReachesTheWork(style: Style) async {
        let source = CancellationTokenSource()
        let work = Doubling()
        async let result = style.run(work, 0, source.token)
        #expect(await work.started.wait())
        source.cancel()
        #expect(await work.sawCancellation.wait())
        switch await result {
        case .failure(.cancelled), .failure(.failed(0)): break
        case let other: Issue.record("\(other)")
        }
    }

    @Test(arguments: Style.allCases) func cancelledBeforeItStartsItEnds(style: Style) async {
        let source = CancellationTokenSource()
        source.cancel()
        #expect(await style.run(Doubling(), 0, source.token) != .success(0))
    }

    @Test func cancellingTheTaskCancelsTheWork() async {
        let work = Doubling()
        let operation = Doubling()
        let future = Doubling()
        let source = CancellationTokenSource()
        let tasks = [
            Task { _ = try await work.value(0) },
            Task {
                let queued = operation.operation(0)
                queued.start()
                _ = try await queued.value()
            },
            Task { _ = try await future.future(0, cancellation: source.token).get(cancelling: source) },
        ]
        for (index, started) in [work.started, operation.started, future.started].enumerated() {
            #expect(await started.wait(), "\(index)")
        }
        for task in tasks { task.cancel() }
        for seen in [work.sawCancellation, operation.sawCancellation, future.sawCancellation] {
            #expect(await seen.wait())
        }
        for task in tasks { await #expect(throws: WorkError.self) { try await task.value } }
    }

    @Test func callbackIsCalledOnceThoughCancelledAndEnded() async {
        let work = Doubling()
        let calls = Mutex<[Result<Int, WorkError>]>([])
        let called = Signal()
        let source = work.start(0) { result in
            calls.withLock { $0.append(result) }
            called.send()
        }
        #expect(await work.started.wait())
        source.cancel()
        #expect(await called.wait())
        #expect(await work.sawCancellation.wait())
        source.cancel()
        #expect(calls.withLock { $0 } == [.failure(.cancelled)])
    }

    @Test func aCallbackThatCallsTwiceResumesOnce() async throws {
        let twice = AdaptedOperation<Int, Int, WorkError>(callback: { input, _, completion in
            completion(.success(input))
            completion(.failure(.failed(1)))
        })
        #expect(try await twice.value(5) == 5)
    }

    @Test func progressArrivesAndAttemptsAreCounted() async throws {
        let seen = Mutex<[OperationProgress]>([])
        _ = try await Doubling().value(1, onProgress: { progress in seen.withLock { $0.append(progress) } })
        #expect(seen.withLock { $0 } == [OperationProgress(completed: 1, total: 1, unit: "numbers")])

        let attempts = Mutex<[Int]>([])
        let flaky = AdaptedOperation<Void, Int, WorkError> { (_, context) async throws(WorkError) in
            attempts.withLock { $0.append(context.attempt) }
            if context.attempt < 3 { throw .failed(context.attempt) }
            return context.attempt
        }
        #expect(try await flaky.retrying(RetryPolicy(tries: 3, failures: .any)).value(()) == 3)
        #expect(attempts.withLock { $0 } == [1, 2, 3])
        await #expect(throws: WorkError.failed(2)) {
            try await flaky.retrying(RetryPolicy(tries: 2, failures: .any)).value(())
        }
    }

    @Test func operationTakesItsInputFromADependency() async throws {
        let first = Doubling().operation(1)
        let second = Doubling().operation(missingInput: .failed(100))
        second.addDependency(supplyingInput: first)
        let queue = LinearOperationQueue()
        queue.addOperation(first)
        queue.addOperation(second)
        #expect(try await second.value() == 4)
        let alone = Doubling().operation(missingInput: .failed(100))
        alone.start()
        await #expect(throws: WorkError.failed(100)) { try await alone.value() }
    }

    @Test func failureWithoutAWordForCancellationIsThatOfTheCancelledWork() async {
        let work = AdaptedOperation<Int, Int, Failed> { (input, context) async throws(Failed) in
            if context.cancellation.isCancelling { throw Failed(input) }
            return input
        }
        for queue in [nil, OperationQueue()] {
            let operation = work.operation(7)
            operation.cancel()
            if let queue { queue.addOperation(operation) } else { operation.start() }
            await #expect(throws: Failed(7)) { try await operation.value() }
            #expect(operation.isCancelled)
        }
    }

    @Test func taskAsAFuture() async {
        let good = Future<Int, WorkError>.task { 1 }
        let bad = Future<Int, WorkError>.task { () async throws(WorkError) in throw .failed(1) }
        #expect(await good.settled() == .success(1))
        #expect(await bad.settled() == .failure(.failed(1)))
        let source = CancellationTokenSource()
        source.cancel()
        let cancelled = Future<Int, WorkError>.task(cancellation: source.token) { 1 }
        #expect(await cancelled.settled() == .failure(.cancelled))
    }

    @Test func operationAsAFuture() async {
        let produce = Produce(.success(3))
        let future = produce.future
        #expect(future.result == nil)
        produce.start()
        #expect(future.value == 3)
    }

    @Test func aFutureIsAwaited() async throws {
        let promise = Promise<Int, Failed>()
        async let value = promise.future.get()
        promise.succeed(value: 7)
        #expect(try await value == 7)
        await #expect(throws: Failed(1)) { try await Future<Int, Failed>(error: Failed(1)).get() }
        #expect(try await Future<Int, Failed>(value: 8).observe(on: DispatchQueue.main).get() == 8)
    }

    /// Defect 18: waiting used to block a thread and force-unwrap the result.
    @Test func aRunCancelledAtAnyMomentEndsOnce() async {
        for _ in 0..<200 {
            let source = CancellationTokenSource()
            let ends = Signal()
            Doubling().start(21, cancellation: source.token) { _ in ends.send() }
            DispatchQueue.global().async { source.cancel() }
            #expect(await ends.wait())
        }
    }
}
