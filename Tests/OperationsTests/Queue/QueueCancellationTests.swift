import Foundation
import Operations
import Signals
import Testing

/// Cancelled operations finish even if their dependencies never do.
@Suite struct QueueCancellationTests {
    /// Only the cancellation makes the queue check its operations.
    @Test func cancelBreaksACycleOfPlainOperations() async {
        let queue = LinearOperationQueue()
        let log = Log()
        let first = BlockOperation { log.add("first") }
        let second = BlockOperation { log.add("second") }
        first.addDependency(second)
        second.addDependency(first)
        await queue.addOperations([first, second], waitUntilFinished: false)
        first.cancel()
        await queue.waitUntilAllOperationsAreFinished()
        #expect(log.all == ["second"])

        let never = Gated()
        let waiting = Foreign { log.add("foreign") }
        waiting.addDependency(never)
        queue.addOperation(waiting)
        waiting.cancel()
        await queue.waitUntilAllOperationsAreFinished()
        #expect(waiting.isFinished)
    }

    @Test func cancelAllStartsAndFinishesWhatWaits() async {
        let queue = LinearOperationQueue()
        let never = Gated()
        let waiting = Gated()
        let plain = BlockOperation { Issue.record("cancelled operations do not run") }
        waiting.addDependency(never)
        plain.addDependency(never)
        queue.addOperation(waiting)
        queue.addOperation(plain)
        queue.cancelAllOperations()
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(waiting.isFinished && waiting.mainRuns == 0 && plain.isFinished)
    }

    @Test func singleCancelledOperationFinishesThoughItsDependencyDoesNot() async {
        let queue = LinearOperationQueue()
        let never = Gated()
        let waiting = Gated()
        waiting.addDependency(never)
        queue.addOperation(waiting)
        waiting.cancel()
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(waiting.isFinished && waiting.mainRuns == 0)
        // The next operation reuses the slot, and the old dependency must not wake it.
        let next = Noted()
        let gate = Gated()
        next.addDependency(gate)
        queue.addOperation(next)
        never.start()
        never.finish()
        #expect(!next.isFinished)
        gate.start()
        gate.finish()
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(next.isFinished)
    }

    @Test func cancelledBehindABarrierItNeedNotWaitForItsDependency() async {
        let queue = LinearOperationQueue()
        let gate = Gated()
        let never = Gated()
        let waiting = Gated()
        waiting.addDependency(never)
        queue.addOperation(gate)
        queue.addBarrierBlock {}
        queue.addOperation(waiting)
        waiting.cancel()
        #expect(await gate.started.wait())
        gate.finish()
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(waiting.isFinished && waiting.mainRuns == 0)
    }

    @Test func cancellationIsNotLostWhileTheOperationIsAdded() async {
        let queue = LinearOperationQueue()
        let never = Gated()
        for _ in 0..<500 {
            let waiting = Gated()
            waiting.addDependency(never)
            await withTaskGroup { group in
                group.addTask { queue.addOperation(waiting) }
                group.addTask { waiting.cancel() }
            }
        }
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(queue.operationCount == 0)
    }
}
