import Foundation
import Operations
import Signals
import Testing

/// The order in which ready operations start: priorities and barriers.
@Suite struct QueueOrderTests {
    @Test func prioritiesOrderWhatIsReadyAndEqualOnesKeepTheirOrder() async {
        let queue = LinearOperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let log = Log()
        let priorities: [Operation.QueuePriority] = [.low, .normal, .veryHigh, .veryLow, .high, .normal]
        for (index, priority) in priorities.enumerated() {
            let operation = BlockOperation { log.add("\(index)") }
            operation.queuePriority = priority
            queue.addOperation(operation)
        }
        queue.isSuspended = false
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(log.all == ["2", "4", "1", "5", "0", "3"])
    }

    /// Operations used to start while the rest of their list was still being added.
    @Test func prioritiesOrderTheWholeListThatIsAdded() async {
        for limit in [1, 2] {
            let queue = LinearOperationQueue()
            queue.maxConcurrentOperationCount = limit
            let seen = Shared<[Int]>([])
            let priorities: [Operation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]
            let operations = (0..<2000).map { index in
                let priority = priorities[index % priorities.count]
                let operation = BlockOperation { if limit == 1 { seen.value.append(priority.rawValue) } }
                operation.queuePriority = priority
                return operation
            }
            await queue.addOperations(operations, waitUntilFinished: true)
            #expect(seen.value == seen.value.sorted(by: >))
            #expect(seen.value.count == (limit == 1 ? 2000 : 0))
        }
    }

    @Test func barrierRunsAlone() async {
        let queue = LinearOperationQueue()
        let log = Log()
        let gate = Gated()
        queue.addOperation(gate)
        for _ in 0..<20 { queue.addOperation { log.add("before") } }
        queue.addBarrierBlock { log.add("barrier") }
        for _ in 0..<20 { queue.addOperation { log.add("after") } }
        queue.addBarrierBlock { log.add("second barrier") }
        #expect(await gate.started.wait())
        #expect(!log.all.contains("barrier"))
        gate.finish()
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(
            log.all
                == Array(repeating: "before", count: 20) + ["barrier"] + Array(repeating: "after", count: 20)
                + ["second barrier"])
        queue.addBarrierBlock { log.add("alone") }
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(log.all.last == "alone")
    }
}
