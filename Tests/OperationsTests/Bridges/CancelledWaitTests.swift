import Dispatch
import Foundation
import Operations
import Signals
import Synchronization
import Testing

/// A failure type that cannot represent cancellation.
enum PlainError: Error, Equatable { case broken, noResult }

/// Waits for operations that are cancelled before their queue starts them. Each of these used to crash the process.
@Suite struct CancelledWaitTests {
    /// An operation that never finishes by itself.
    final class Plain: AsyncResultOperation<Int, PlainError>, @unchecked Sendable {
        let started = Signal()
        override func main() { started.send() }
    }

    final class AnyFailure: AsyncResultOperation<Int, any Error>, @unchecked Sendable {
        override func main() {}
    }

    enum Queue: CaseIterable {
        case foundation, linear

        /// Adds an operation that executes until `gate` opens, followed by `operation`.
        func add(_ operation: Operation, behind gate: Gated) {
            switch self {
            case .foundation:
                let queue = OperationQueue()
                queue.maxConcurrentOperationCount = 1
                queue.addOperations([gate, operation], waitUntilFinished: false)
            case .linear:
                let queue = LinearOperationQueue()
                queue.maxConcurrentOperationCount = 1
                queue.addOperation(gate)
                queue.addOperation(operation)
            }
        }
    }

    @Test(arguments: Queue.allCases) func cancellingTheWaitingTaskEndsItsWait(queue: Queue) async {
        let gate = Gated()
        let operation = Plain()
        queue.add(operation, behind: gate)
        #expect(await gate.started.wait())
        let task = Task { try await operation.value() }
        task.cancel()
        let result = await task.result
        #expect(throws: Never.self) { try #expect(result.get() == nil) }
        gate.finish()
        await onThread { operation.waitUntilFinished() }
        #expect(operation.result == nil && operation.isCancelled)
    }

    @Test(arguments: Queue.allCases) func cancellingTheOperationEndsTheWait(queue: Queue) async throws {
        let gate = Gated()
        let operation = Plain()
        queue.add(operation, behind: gate)
        #expect(await gate.started.wait())
        async let value = operation.value()
        operation.cancel()
        gate.finish()
        #expect(try await value == nil)
    }

    @Test func cancelAllOperationsEndsTheWait() async throws {
        let foundation = OperationQueue()
        foundation.isSuspended = true
        let linear = LinearOperationQueue()
        linear.isSuspended = true
        let operations = [Plain(), Plain()]
        foundation.addOperation(operations[0])
        linear.addOperation(operations[1])
        let tasks = operations.map { operation in Task { try await operation.value() } }
        foundation.cancelAllOperations()
        linear.cancelAllOperations()
        foundation.isSuspended = false
        linear.isSuspended = false
        for task in tasks { #expect(try await task.value == nil) }
    }

    @Test func anOperationThatIsNeverStartedDoesNotDetainACancelledTask() async throws {
        let operation = Plain()
        let task = Task { try await operation.value() }
        task.cancel()
        #expect(try await task.value == nil)
        let queued = AdaptedOperation<Int, Int, PlainError> { (input, _) async throws(PlainError) in input }
            .operation(1)
        let waiting = Task { try await queued.value() }
        waiting.cancel()
        #expect(try await waiting.value == nil)
    }

    @Test func anOperationThatIgnoresItsCancellationDoesNotDetainACancelledTask() async throws {
        let operation = Plain()
        operation.start()
        let task = Task { try await operation.value() }
        task.cancel()
        #expect(try await task.value == nil)
        operation.finish(with: .success(1))
        #expect(try await operation.value() == 1, "the operation itself may still succeed")
    }

    @Test func cancellationFailuresAreThrownForAMissingResult() async {
        let work = Work()
        work.start()
        work.finish()
        await #expect(throws: WorkError.cancelled) { try await work.value() }
        let any = AnyFailure()
        any.finish()
        await #expect(throws: CancellationError.self) { try await any.value() }
    }

    @Test(arguments: Queue.allCases) func anAdaptedOperationEndsWithTheFailureForAMissingResult(queue: Queue) async {
        let gate = Gated()
        let operation = Plain()
        let adapted = AdaptedOperation<Void, Int, PlainError>(missingResult: .noResult, operation: { operation })
        queue.add(operation, behind: gate)
        #expect(await gate.started.wait())
        let task = Task { try await adapted.value(()) }
        task.cancel()
        await #expect(throws: PlainError.noResult) { try await task.value }
        gate.finish()

        let silent = AdaptedOperation<Void, Int, PlainError>(
            missingResult: .noResult,
            operation: {
                let operation = Plain()
                operation.finish()
                return operation
            })
        await #expect(throws: PlainError.noResult) { try await silent.value(()) }
    }

    @Test func noResultComesAfterAFinishWithoutOne() {
        let operation = Plain()
        operation.cancel()
        operation.start()
        #expect(operation.isFinished)
        operation.finish(with: .success(1))
        #expect(operation.result == nil)
    }

    @Test func everyWaitEndsWhenCancelledAtAnyMoment() async {
        for round in 0..<300 {
            let queue = LinearOperationQueue()
            let operation = Plain()
            let task = Task { try await operation.value() }
            await withTaskGroup { group in
                group.addTask { queue.addOperation(operation) }
                group.addTask { if round % 2 == 0 { task.cancel() } else { operation.cancel() } }
                group.addTask { operation.finish(with: .success(1)) }
            }
            _ = await task.result
        }
    }
}
