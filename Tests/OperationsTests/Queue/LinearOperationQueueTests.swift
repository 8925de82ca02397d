import Dispatch
import Foundation
import Operations
import Signals
import Synchronization
import Testing

/// The operations, settings and limit of a queue.
@Suite struct LinearOperationQueueTests {
    @Test func runsEveryKindOfOperation() async {
        let queue = LinearOperationQueue()
        let log = Log()
        queue.addOperation { log.add("block") }
        queue.addOperation(BlockOperation { log.add("block operation") })
        queue.addOperation(Noted { log.add("async operation") })
        queue.addOperation(Foreign { log.add("foreign") })
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(Set(log.all) == ["block", "block operation", "async operation", "foreign"])
        #expect(queue.operationCount == 0 && queue.operations.isEmpty)
    }

    @Test func queuesAreHashable() {
        let (one, other) = (LinearOperationQueue(), LinearOperationQueue())
        #expect(Set([one, other, one]).count == 2)
        #expect(one == one && one != other && LinearOperationQueue.main == .main)
    }

    @Test func neverMoreExecuteThanTheLimitAllows() async {
        let queue = LinearOperationQueue()
        queue.maxConcurrentOperationCount = 3
        let running = Mutex((now: 0, most: 0))
        for _ in 0..<300 {
            queue.addOperation {
                running.withLock {
                    $0.now += 1
                    $0.most = max($0.most, $0.now)
                }
                running.withLock { $0.now -= 1 }
            }
        }
        let gates = (0..<6).map { _ in Gated() }
        for gate in gates { queue.addOperation(gate) }
        for gate in gates.prefix(3) { #expect(await gate.started.wait()) }
        #expect(gates.filter(\.isExecuting).count == 3)
        for gate in gates.prefix(3) { gate.finish() }
        for gate in gates.suffix(3) {
            #expect(await gate.started.wait())
            gate.finish()
        }
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(running.withLock { $0.most } <= 3)
    }

    @Test func suspendedQueueStartsNothing() async {
        let queue = LinearOperationQueue()
        queue.isSuspended = true
        let operation = Noted()
        queue.addOperation(operation)
        #expect(queue.operations == [operation])
        #expect(!operation.isFinished)
        queue.isSuspended = false
        await onThread { operation.waitUntilFinished() }
    }

    @Test func progressCountsFinishedOperations() async {
        let queue = LinearOperationQueue()
        queue.progress.totalUnitCount = 4
        await onThread { queue.addOperations((0..<3).map { _ in Noted() }, waitUntilFinished: true) }
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(queue.progress.completedUnitCount == 3)
        #expect(queue.progress.fractionCompleted == 0.75)
        await onThread { queue.addOperations((0..<5000).map { _ in BlockOperation {} }, waitUntilFinished: false) }
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(queue.progress.completedUnitCount == 5003)
    }

    @Test func underlyingQueueNameAndCurrent() async {
        let target = DispatchQueue(label: "target")
        let queue = LinearOperationQueue()
        queue.underlyingQueue = target
        queue.name = "mine"
        queue.qualityOfService = .background
        #expect(queue.name == "mine" && queue.qualityOfService == .background)
        let isCurrent = Mutex(false)
        queue.addOperation {
            dispatchPrecondition(condition: .onQueue(target))
            isCurrent.withLock { $0 = LinearOperationQueue.current === queue }
        }
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(isCurrent.withLock { $0 })
        #expect(LinearOperationQueue.current == nil)
        #expect(queue.maxConcurrentOperationCount == LinearOperationQueue.defaultMaxConcurrentOperationCount)
    }

    /// Adding an operation that had finished before its start used to end the process.
    @Test func operationFinishedBeforeItIsAddedLeavesTheQueue() async {
        let queue = LinearOperationQueue()
        let finished = Gated()
        finished.finish()
        let after = Noted()
        after.addDependency(finished)
        queue.addOperation(after)
        queue.addOperation(finished)
        await queue.waitUntilAllOperationsAreFinished()
        #expect(finished.mainRuns == 0 && after.isFinished)
    }

    @Test func startingTwiceAddedIsRefused() async {
        await #expect(processExitsWith: .failure) {
            let queue = LinearOperationQueue()
            queue.isSuspended = true
            let operation = Noted()
            queue.addOperation(operation)
            queue.addOperation(operation)
        }
    }
}
