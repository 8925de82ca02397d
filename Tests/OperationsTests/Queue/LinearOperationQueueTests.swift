import Dispatch
import Foundation
import Operations
import Signals
import Synchronization
import Testing

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

    /// No other event here makes the queue check its operations.
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

        // The operation executes asynchronously and finishes later.
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

    @Test func queuesAreHashable() {
        let (one, other) = (LinearOperationQueue(), LinearOperationQueue())
        #expect(Set([one, other, one]).count == 2)
        #expect(one == one && one != other && LinearOperationQueue.main == .main)
    }

    @Test func mainQueueRunsOnTheMainThreadOneAtATime() async {
        let log = Log()
        let queue = LinearOperationQueue.main
        let first = Noted {
            dispatchPrecondition(condition: .onQueue(.main))
            log.add("first \(LinearOperationQueue.current == .main)")
        }
        let second = BlockOperation { log.add("second") }
        await queue.addOperations([first, second], waitUntilFinished: true)
        #expect(log.all == ["first true", "second"])
    }

    @Test @MainActor func mainThreadMayWaitForItsOwnQueue() {
        let log = Log()
        wait()
        func wait() {
            let operations = (0..<3).map { number in Noted { log.add("\(number)") } }
            LinearOperationQueue.main.addOperations(operations, waitUntilFinished: true)
        }
        #expect(log.all == ["0", "1", "2"])
    }

    @Test func aWaitEndsWhenItsTaskIsCancelled() async {
        let queue = LinearOperationQueue()
        let gate = Gated()
        let tasks = [
            Task { await queue.addOperations([gate], waitUntilFinished: true) },
            Task { await queue.waitUntilAllOperationsAreFinished() },
        ]
        #expect(await gate.started.wait())
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        #expect(gate.isExecuting)
        gate.finish()
        await queue.waitUntilAllOperationsAreFinished()
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
        // Its place serves the next one, which the old dependency must not wake.
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

    @Test func startingTwiceAddedIsRefused() async {
        await #expect(processExitsWith: .failure) {
            let queue = LinearOperationQueue()
            queue.isSuspended = true
            let operation = Noted()
            queue.addOperation(operation)
            queue.addOperation(operation)
        }
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

/// A generator that repeats itself from the same seed.
struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// An asynchronous operation of somebody else's, which tells nobody but Foundation.
final class Foreign: Operation, @unchecked Sendable {
    private let body: @Sendable () -> Void
    private let phase = Mutex((executing: false, finished: false))
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.withLock { $0.executing } }
    override var isFinished: Bool { phase.withLock { $0.finished } }

    override func start() {
        phase.withLock { $0.executing = true }
        didChangeValue(forKey: "isExecuting")
        DispatchQueue.global().async {
            self.body()
            self.phase.withLock { $0 = (false, true) }
            self.didChangeValue(forKey: "isFinished")
        }
    }
}
