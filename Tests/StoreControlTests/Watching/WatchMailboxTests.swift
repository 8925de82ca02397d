import ControlProtocol
import Jobs
import OperationTypes
import Testing

@testable import StoreControl

@Suite struct WatchMailboxTests {
    private func changes(_ ids: [Int64], graph: Int64? = nil) -> StoreChange {
        .jobs(ids.map { JobChange(job: JobID($0), graph: graph.map { GraphID($0) }, state: .ready, attempt: 0) })
    }

    @Test func jobThatChangesTwiceIsTakenOnce() async {
        let mailbox = WatchMailbox(scope: .all)
        mailbox.add(changes([1, 2]))
        mailbox.add(changes([1, 3]))
        for id in [1, 2, 3] as [Int64] { #expect(await mailbox.next() == .job(JobID(id))) }
        mailbox.add(changes([1]))
        #expect(await mailbox.next() == .job(JobID(1)))
    }

    @Test func onlyTheScopeIsKept() async {
        let job = WatchMailbox(scope: .job(JobID(2)))
        job.add(changes([1, 2, 3]))
        #expect(await job.next() == .job(JobID(2)))
        let graph = WatchMailbox(scope: .graph(GraphID(7)))
        graph.add(changes([1]))
        graph.add(changes([2], graph: 8))
        graph.add(changes([3], graph: 7))
        #expect(await graph.next() == .job(JobID(3)))
    }

    @Test func overflowIsToldAndEmptiesTheBox() async {
        let mailbox = WatchMailbox(scope: .all, capacity: 2)
        mailbox.add(changes([1, 2, 3]))
        #expect(await mailbox.next() == .overflow)
        mailbox.add(changes([4]))
        #expect(await mailbox.next() == .job(JobID(4)))
    }

    @Test func changesThatTheStoreMissedEmptyTheBox() async {
        let mailbox = WatchMailbox(scope: .job(JobID(1)))
        mailbox.add(changes([1]))
        mailbox.add(.missed)
        #expect(await mailbox.next() == .overflow)
        mailbox.add(changes([1]))
        #expect(await mailbox.next() == .job(JobID(1)))
    }

    @Test func nothingIsHeldForAReaderThatIsLost() async {
        let mailbox = WatchMailbox(scope: .all, capacity: 10)
        for id in 1...1000 as ClosedRange<Int64> {
            mailbox.add(changes([id]))
            mailbox.add(OperationProgress(completed: 1, unit: "bytes"), of: JobID(id))
            #expect(mailbox.held <= 10)
        }
        #expect(await mailbox.next() == .overflow)
        mailbox.add(changes([1]))
        #expect(await mailbox.next() == .job(JobID(1)))
    }

    @Test func progressOverflowsToo() async {
        let mailbox = WatchMailbox(scope: .all, capacity: 2)
        for id in 1...3 as ClosedRange<Int64> {
            mailbox.add(OperationProgress(completed: 1, unit: "bytes"), of: JobID(id))
        }
        #expect(await mailbox.next() == .overflow)
    }

    @Test func readerThatIsAlwaysOneBehindCostsNothing() async {
        let mailbox = WatchMailbox(scope: .all)
        mailbox.add(changes([0]))
        for id in 1...10_000 as ClosedRange<Int64> {
            mailbox.add(changes([id]))
            #expect(await mailbox.next() == .job(JobID(id - 1)))
            #expect(mailbox.held <= 4)
        }
    }

    @Test func latestProgressIsKept() async {
        let mailbox = WatchMailbox(scope: .all)
        for count in 1...3 as ClosedRange<Int64> {
            mailbox.add(OperationProgress(completed: count, unit: "bytes"), of: JobID(1))
        }
        #expect(await mailbox.next() == .progress(JobID(1), OperationProgress(completed: 3, unit: "bytes")))
    }

    @Test func cancelledReaderGetsNothing() async {
        let mailbox = WatchMailbox(scope: .all)
        let reader = Task { await mailbox.next() }
        reader.cancel()
        #expect(await reader.value == nil)
        mailbox.add(changes([1]))
        #expect(await mailbox.next() == .job(JobID(1)))
    }

    @Test func mailboxesShareWhatTheyMayHold() async {
        let budget = WatchBudget(10)
        let first = WatchMailbox(scope: .graph(GraphID(7)), budget: budget)
        var second: WatchMailbox? = WatchMailbox(scope: .graph(GraphID(7)), budget: budget)
        first.add(changes([1, 2, 3, 4, 5, 6, 7, 8], graph: 7))
        second?.add(changes([1, 2, 3], graph: 7))
        #expect(await second?.next() == .overflow)
        // What it dropped is room for others.
        second?.add(changes([1, 2], graph: 7))
        second = nil
        first.add(changes([9, 10], graph: 7))
        #expect(first.held == 10)
        for id in 1...10 as ClosedRange<Int64> { #expect(await first.next() == .job(JobID(id))) }
        first.add(changes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], graph: 7))
        #expect(await first.next() == .job(JobID(1)))
    }
}
