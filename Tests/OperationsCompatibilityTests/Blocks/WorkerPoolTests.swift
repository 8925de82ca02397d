import Dispatch
import Foundation
import OperationsCompatibility
import Signals
import Synchronization
import Testing

/// Threads of the shared queues briefly look for more blocks before they leave.
@Suite struct WorkerPoolTests {
    @Test func aBlockMayWaitForALaterOneOfItsQueue() async {
        for _ in 0..<100 {
            let gate = Signal()
            let first = Async.utility { gate.wait() }
            let second = Async.utility { gate.send() }
            #expect(await onThread { first.wait(seconds: 60) } == .success)
            #expect(first.output == true)
            second.wait()
        }
    }

    @Test func aBlockMayWaitForOneThatItSends() async {
        let outer = Async.background { Async.background { Async.background { 1 }.wait() }.wait() }
        #expect(await onThread { outer.wait(seconds: 60) } == .success)
        #expect(outer.output == .success)
    }

    @Test func everyBlockRunsOnceWhoeverSendsIt() async {
        let runs = Mutex(0)
        let all = Signal()
        let run: @Sendable () -> Void = {
            let count = runs.withLock { runs in
                runs += 1
                return runs
            }
            if count == 4000 { all.send() }
        }
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        let block = Async.userInitiated(run)
                        // Waiting makes the threads run out of blocks and leave.
                        if number % 50 == 0 { _ = await onThread { block.wait() } }
                    }
                }
            }
        }
        #expect(await all.wait())
        #expect(runs.withLock { $0 } == 4000)
    }

    @Test func capturesOfABlockAreReleasedThoughTheThreadStays() async {
        let gone = Signal()
        do {
            let canary = Canary { gone.send() }
            Async.utility { canary.touch() }
        }
        #expect(await gone.wait())
    }
}
