import Dispatch
import Foundation
import Operations
import Signals
import Testing

/// Waiting for a queue, and the queue of the main thread.
@Suite struct QueueWaitTests {
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
}
