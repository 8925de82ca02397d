import Dispatch
import OperationsCompatibility
import Signals
import Synchronization
import Testing

@Suite struct AsyncTests {
    @Test func chainPassesValuesAndRunsOneLinkAtATime() {
        let log = Log()
        let last = Async.background { () -> Int in
            log.add("1")
            return 1
        }.utility { value -> String in
            log.add("2")
            return "\(value + 1)"
        }.userInitiated { value -> [String] in
            log.add("3")
            return [value]
        }
        #expect(last.wait() == .success)
        #expect(last.output == ["2"])
        #expect(log.all == ["1", "2", "3"])
    }

    @Test func valuesOfEveryLayoutArePassedOnAndReleased() async {
        struct Wide: Sendable, Equatable {
            var numbers = (0, 1, 2, 3)
            static func == (one: Wide, other: Wide) -> Bool { one.numbers == other.numbers }
        }
        struct Watcher: Sendable { weak let canary: Canary? }
        let released = Signal()
        let watched = Canary {}
        var block: AsyncBlock<Watcher, Canary>? = Async.background { 7 as UInt8 }.background { number -> Wide in
            #expect(number == 7)
            return Wide()
        }.utility { wide -> String? in
            #expect(wide == Wide())
            return nil
        }.utility { text -> Watcher in
            #expect(text == nil)
            return Watcher(canary: watched)
        }.background { watcher -> Canary in
            #expect(watcher.canary === watched)
            return Canary { released.send() }
        }
        block?.wait()
        #expect(block?.output != nil)
        block = nil
        // A thread may keep the last link slightly longer.
        #expect(await released.wait())
    }

    @Test @MainActor func mainIsAsynchronousEvenOnMain() {
        let isDone = Shared(false)
        let block = Async.main { isDone.value = true }
        #expect(!isDone.value)
        #expect(block.wait(seconds: 10) == .success)
        #expect(isDone.value)
    }

    @Test func outputIsNilUntilTheLinkFinished() async {
        let gate = Signal()
        let started = Signal()
        let block = Async.background { () -> Int in
            started.send()
            _ = gate.wait()
            return 1
        }
        #expect(await started.wait())
        #expect(block.output == nil)
        gate.send()
        block.wait()
        #expect(block.output == 1)
    }

    @Test func customQueueAndDelayCountedFromThePredecessor() {
        let queue = DispatchQueue(label: "custom")
        let start = DispatchTime.now()
        let block = Async.custom(queue: queue, after: 0.02) { dispatchPrecondition(condition: .onQueue(queue)) }
            .custom(queue: queue, after: 0.02) { dispatchPrecondition(condition: .onQueue(queue)) }
        block.wait()
        #expect(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds >= 40_000_000)
        Async.background(after: -1) {}.wait()
    }

    @Test func delayCountsThoughThePredecessorHasTheSameQueue() {
        let gate = Signal()
        let first = Async.background { () -> UInt64 in
            _ = gate.wait()
            return DispatchTime.now().uptimeNanoseconds
        }
        let waited = first.background(after: 0.02) { DispatchTime.now().uptimeNanoseconds - $0 }
        gate.send()
        waited.wait()
        #expect((waited.output ?? 0) >= 20_000_000)
    }

    @Test func waitTimesOutAndMayBeRepeated() async {
        let gate = Signal()
        let block = Async.background { _ = gate.wait() }
        #expect(block.wait(seconds: 0.01) == .timedOut)
        gate.send()
        #expect(block.wait() == .success)
        #expect(block.wait() == .success)
    }

    /// Defect 30: a second wait, or two at once, used to trap.
    @Test func manyThreadsMayWaitAtOnce() async {
        let gate = Signal()
        let block = Async.background { _ = gate.wait() }
        let results = await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { await onThread { block.wait() } } }
            gate.send()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == [.success, .success, .success, .success])
    }

    /// Defect 29: the link after a cancelled one used to trap because it had no value.
    @Test func linksAfterACancelledOneAreSkippedAndLearnWhy() async {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let first = Async.custom(queue: queue) { 1 }
        let ran = Mutex(false)
        let caught = Signal()
        let last = first.background { value -> Int in
            ran.withLock { $0 = true }
            return value
        }.utility { $0 }
        last.catch { error in
            if error is CancellationError { caught.send() }
        }
        first.cancel()
        queue.resume()
        #expect(last.wait() == .success)
        #expect(await caught.wait())
        #expect(!ran.withLock { $0 })
        #expect(first.output == nil && last.output == nil)
    }

    @Test func cancellingARunningOrFinishedLinkChangesNothing() async {
        let gate = Signal()
        let started = Signal()
        let block = Async.background { () -> Int in
            started.send()
            _ = gate.wait()
            return 1
        }
        #expect(await started.wait())
        block.cancel()
        gate.send()
        block.wait()
        block.cancel()
        block.cancel()
        #expect(block.output == 1)
    }

    /// Defect 35: a cancelled delayed block used to keep its captured values until it was due.
    @Test func cancelledDelayedLinkReleasesItsCapturesNowAndFinishesWhenDue() {
        let gone = Mutex(false)
        let start = DispatchTime.now()
        let block = delayed(Canary { gone.withLock { $0 = true } })
        block.cancel()
        #expect(gone.withLock { $0 })
        #expect(block.wait(seconds: 0.001) == .timedOut)
        #expect(block.wait() == .success)
        #expect(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds >= 50_000_000)
    }

    private func delayed(_ canary: Canary) -> AsyncBlock<Void, Void> {
        Async.background(after: 0.05) { canary.touch() }
    }

    @Test func throwSkipsLaterLinksWhichTakeOverTheError() async {
        let log = Log()
        let handlers = Signal()
        func note(_ name: String) -> @Sendable (any Error) -> Void {
            { error in
                log.add("\(name) \((error as? Failed)?.number ?? 0)")
                handlers.send()
            }
        }
        let before = Async.background { 0 }.catch { _ in log.add("before failed") }
        let last = before.utility { _ -> Int in throw Failed(5) }.catch(respondBlock: note("own"))
            .background { value -> Int in
                log.add("ran")
                return value
            }.catch(respondBlock: note("later"))
        last.wait()
        for _ in 0..<2 { #expect(await handlers.wait()) }
        #expect(Set(log.all) == ["own 5", "later 5"])
        #expect(last.output == nil)
    }

    /// Defect 32: the handler used to depend on a force-unwrapped queue. It runs on the link's queue, even if attached
    /// late.
    @Test func handlerAttachedLateRunsOnTheQueueOfItsLink() async {
        let queue = DispatchQueue(label: "custom")
        let block = Async.custom(queue: queue) { throw Failed() }
        block.wait()
        let done = Signal()
        block.catch { _ in
            dispatchPrecondition(condition: .onQueue(queue))
            done.send()
        }
        #expect(await done.wait())
    }

    @Test @MainActor func handlerOfAMainLinkIsOnMainAndAsynchronous() async {
        let done = Signal()
        let block = Async.main { throw Failed() }
        block.wait()
        let isCaught = Shared(false)
        block.catch { _ in
            dispatchPrecondition(condition: .onQueue(.main))
            isCaught.value = true
            done.send()
        }
        #expect(!isCaught.value)
        #expect(await done.wait())
    }

    /// Defect 31: reading the output used to race with the block that writes it.
    @Test func outputIsReadWhileBlocksRun() async {
        for _ in 0..<200 {
            let block = Async.background { [1, 2, 3] }
            while block.output == nil { await Task.yield() }
            #expect(block.output == [1, 2, 3])
        }
    }

    @Test func branchesOfOneLinkAllRun() {
        let root = Async.background { 1 }
        let branches = (0..<50).map { number in root.background { $0 + number } }
        for branch in branches { branch.wait() }
        #expect(branches.map(\.output) == (0..<50).map { $0 + 1 })
    }

    @Test func longChainsRunAndFailWithoutRecursion() async {
        let length = isSanitized ? 5000 : 50_000
        let outcome = await onThread {
            let gate = Signal()
            let root = Async.background { () -> Int in
                _ = gate.wait()
                return 0
            }
            var good = root.background { $0 }
            for _ in 0..<length { good = good.background { $0 + 1 } }
            var bad = root.background { _ -> Int in throw Failed() }
            for _ in 0..<length { bad = bad.background { $0 + 1 } }
            gate.send()
            good.wait()
            bad.wait()
            return (good.output, bad.output)
        }
        #expect(outcome.0 == length)
        #expect(outcome.1 == nil)
    }
}
