import Foundation
import Operations
import Signals
import Synchronization
import Testing

/// Operations that depend on others, regardless of their class and queue.
@Suite struct QueueDependencyTests {
    @Test func dependenciesAreKeptAcrossQueuesAndKinds() async {
        let queue = LinearOperationQueue()
        let foundation = OperationQueue()
        let log = Log()
        let foreign = Foreign { log.add("1") }
        let block = BlockOperation { log.add("2") }
        let last = Noted { log.add("3") }
        let plainLast = BlockOperation { log.add("4") }
        block.addDependency(foreign)
        last.addDependency(block)
        plainLast.addDependency(last)
        queue.addOperation(plainLast)
        queue.addOperation(last)
        foundation.addOperation(block)
        #expect(log.all.isEmpty)
        queue.addOperation(foreign)
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(log.all == ["1", "2", "3", "4"])
    }

    @Test func dependencyOnAnOperationStartedByHand() async {
        let queue = LinearOperationQueue()
        let byHand = Gated()
        let after = Noted()
        after.addDependency(byHand)
        queue.addOperation(after)
        byHand.start()
        #expect(!after.isFinished)
        byHand.finish()
        await onThread { after.waitUntilFinished() }
    }

    @Test func dependencyAddedAfterTheOperationIsKept() async {
        let queue = LinearOperationQueue()
        queue.isSuspended = true
        let log = Log()
        let operation = BlockOperation { log.add("second") }
        queue.addOperation(operation)
        let gate = Gated()
        operation.addDependency(gate)
        queue.isSuspended = false
        await onThread { queue.addOperations([Noted()], waitUntilFinished: true) }
        log.add("first")
        gate.start()
        gate.finish()
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(log.all == ["first", "second"])
    }

    @Test func completionBlockSetLaterReleasesDependentsAndSlots() async {
        let queue = LinearOperationQueue()
        queue.maxConcurrentOperationCount = 1
        let elsewhere = OperationQueue()
        elsewhere.isSuspended = true
        let dependency = BlockOperation()
        let dependent = Noted()
        dependent.addDependency(dependency)
        elsewhere.addOperation(dependency)
        queue.addOperation(dependent)
        let completed = Signal()
        dependency.completionBlock = { completed.send() }
        elsewhere.isSuspended = false
        await queue.waitUntilAllOperationsAreFinished()
        #expect(await completed.wait())

        // This operation executes asynchronously and finishes later.
        let gate = Signal()
        let started = Signal()
        let executing = Foreign {
            started.send()
            _ = gate.wait()
        }
        queue.addOperation(executing)
        #expect(await started.wait())
        executing.completionBlock = { completed.send() }
        gate.send()
        await queue.waitUntilAllOperationsAreFinished()
        #expect(await completed.wait())
    }

    /// A subclass may return true for `isFinished` before it reports that to Foundation, which keeps an unretained
    /// pointer to the observer until then.
    @Test func operationsThatReportTheirFinishLateAreObserved() async {
        for _ in 0..<300 {
            let queue = LinearOperationQueue()
            let operations = (0..<20).map { _ in Foreign {} }
            let dependents = operations.map { operation in
                let dependent = Noted()
                dependent.addDependency(operation)
                return dependent
            }
            await queue.addOperations(operations + dependents, waitUntilFinished: true)
            #expect(dependents.filter { !$0.isFinished } == [])
        }
    }

    @Test func operationThatIsNotReadyByItsOwnWordIsAskedAgain() async {
        final class Moody: Operation, @unchecked Sendable {
            let mood = Mutex(false)
            override var isReady: Bool { super.isReady && mood.withLock { $0 } }
        }
        let queue = LinearOperationQueue()
        let moody = Moody()
        queue.addOperation(moody)
        await onThread { queue.addOperations([Noted()], waitUntilFinished: true) }
        #expect(!moody.isFinished)
        moody.mood.withLock { $0 = true }
        let after = Noted()
        after.addDependency(moody)
        queue.addOperation(after)
        await onThread { queue.waitUntilAllOperationsAreFinished() }
        #expect(moody.isFinished)
    }

    @Test(arguments: [1, 8]) func longBacklogAndLongChainFinish(limit: Int) async {
        let count = 20_000
        let runs = Mutex(0)
        await onThread {
            let queue = LinearOperationQueue()
            queue.maxConcurrentOperationCount = limit
            var last: Operation?
            for index in 0..<count {
                let operation = Noted { runs.withLock { $0 += 1 } }
                if index % 2 == 0 {
                    if let last { operation.addDependency(last) }
                    last = operation
                }
                queue.addOperation(operation)
            }
            queue.waitUntilAllOperationsAreFinished()
        }
        #expect(runs.withLock { $0 } == count)
    }

    @Test func randomGraphsKeepTheirOrder() async {
        let seed = UInt64.random(in: 0 ... .max)
        var random = Seeded(state: seed)
        for _ in 0..<20 {
            let queue = LinearOperationQueue()
            queue.maxConcurrentOperationCount = Int.random(in: 1...4, using: &random)
            var operations: [Operation] = []
            let broken = Mutex(0)
            for index in 0..<200 {
                let before = (0..<Int.random(in: 0...3, using: &random)).compactMap { _ in
                    operations.randomElement(using: &random)
                }
                let check: @Sendable () -> Void = { [before] in
                    if !before.allSatisfy(\.isFinished) { broken.withLock { $0 += 1 } }
                }
                let operation: Operation =
                    switch index % 3 {
                    case 0: Noted(check)
                    case 1: BlockOperation(block: check)
                    default: Foreign(check)
                    }
                for dependency in before { operation.addDependency(dependency) }
                operations.append(operation)
            }
            for operation in operations.shuffled(using: &random) { queue.addOperation(operation) }
            await onThread { queue.waitUntilAllOperationsAreFinished() }
            #expect(broken.withLock { $0 } == 0, "seed \(seed)")
            #expect(operations.filter { !$0.isFinished } == [], "seed \(seed)")
        }
    }
}
