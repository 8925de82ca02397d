import ControlProtocol
import Dispatch
import Jobs
import OperationTypes
import Synchronization
import Testing

@testable import Daemon

@Suite struct InputCheckTests {
    /// Whoever enqueues waits for no disk that does not answer, and only once; the job is told then.
    @Test func aDiskThatDoesNotAnswerHoldsUpNobody() async throws {
        let checks = BlockingChecks(maxQueueing: .seconds(60))
        let refusal = ControlProblem(.invalidInput, "It is a folder.")
        #expect(await checks.request(limit: .seconds(60)).firstProblem(of: [{ nil }, { refusal }]) == refusal)
        let hanging = DispatchSemaphore(value: 0)
        let late = checks.request(limit: .milliseconds(20))
        let hang: BlockingChecks.Check = {
            hanging.wait()
            return refusal
        }
        #expect(await late.firstProblem(of: [hang]) == nil)
        hanging.signal()
        let looked = Atomic(0)
        for _ in 0..<40 {
            let look: BlockingChecks.Check = {
                looked.add(1, ordering: .relaxed)
                return refusal
            }
            #expect(await late.firstProblem(of: [look]) == nil)
        }
        // Comes after everything that was put before it.
        #expect(await checks.request(limit: .seconds(60)).firstProblem(of: [{ refusal }]) == refusal)
        #expect(looked.load(ordering: .relaxed) == 0)
    }

    /// Somebody else's disk is not waited for to look at one's own.
    @Test(.timeLimit(.minutes(1))) func theLooksOfOthersHoldUpNobody() async throws {
        let checks = BlockingChecks(maxQueueing: .milliseconds(1))
        let refusal = ControlProblem(.invalidInput, "It is a folder.")
        let hanging = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let hang: BlockingChecks.Check = {
            begin.finish()
            hanging.wait()
            return refusal
        }
        async let first = checks.request(limit: .seconds(600)).firstProblem(of: [hang])
        for await _ in begun {}
        let other = checks.request(limit: .seconds(600))
        #expect(await other.firstProblem(of: [{ refusal }]) == nil)
        hanging.signal()
        #expect(await first == refusal)
        // It has given up for good.
        #expect(await other.firstProblem(of: [{ refusal }]) == nil)
    }

    @Test func aKindWithoutChecksRefusesNothing() async throws {
        let check = InputCheck(kinds: try KindRegistry([Greet()]))
        for kind in ["greet", "unknown"] {
            let json = try JSONText(checking: Array(#"{"name":7}"#.utf8))
            let input = PlannedInput(kind: kind, input: json, stage: .whole)
            #expect(await check.problems(of: [input]) == [nil])
            #expect(check.blockingCheck(of: input) == nil)
        }
    }
}
