import OperationTypes
import Testing

@Suite struct RetryPolicyTests {
    @Test(arguments: [(1, 1), (2, 2), (3, 4), (4, 5), (100, 5)])
    func exponentialDelayGrowsToItsCap(attempt: Int, seconds: Int) {
        let delay = RetryPolicy.Delay.exponential(initial: .seconds(1), multiplier: 2, cap: .seconds(5))
        #expect(delay.duration(afterTry: attempt) == .seconds(seconds))
    }

    @Test func capAppliesToTheFirstDelayToo() {
        let delay = RetryPolicy.Delay.exponential(initial: .seconds(9), multiplier: 2, cap: .seconds(5))
        #expect(delay.duration(afterTry: 1) == .seconds(5))
    }

    @Test func listServesItsLastEntryForAllThatFollow() {
        let delay = RetryPolicy.Delay.list([.seconds(1), .seconds(3)])
        #expect([1, 2, 3].map { delay.duration(afterTry: $0) } == [.seconds(1), .seconds(3), .seconds(3)])
        #expect(RetryPolicy.Delay.list([]).duration(afterTry: 1) == .zero)
    }

    @Test func stopsAfterTheLastAttempt() {
        let policy = RetryPolicy(tries: 2, failures: .any)
        #expect(policy.decide(afterTry: 1, code: "x", isRetryable: false, random: 0) == .retry(after: .zero))
        #expect(policy.decide(afterTry: 2, code: "x", isRetryable: true, random: 0) == .stop)
    }

    @Test func failuresDecide() {
        let byCode = RetryPolicy(tries: 9, failures: .codes(["busy"]))
        #expect(byCode.decide(afterTry: 1, code: "busy", isRetryable: false, random: 0) == .retry(after: .zero))
        #expect(byCode.decide(afterTry: 1, code: "gone", isRetryable: true, random: 0) == .stop)
        let ownWord = RetryPolicy(tries: 9)
        #expect(ownWord.decide(afterTry: 1, code: "", isRetryable: false, random: 0) == .stop)
    }

    @Test func jitterShortensAndTheOtherSideIsHeard() {
        let policy = RetryPolicy(tries: 9, delay: .constant(.seconds(8)), jitter: .full)
        #expect(policy.decide(afterTry: 1, code: "", isRetryable: true, random: 0.5) == .retry(after: .seconds(4)))
        #expect(
            policy.decide(afterTry: 1, code: "", isRetryable: true, retryAfter: .seconds(30), random: 0.5)
                == .retry(after: .seconds(30)))
    }

    @Test func decidesByWhatTheFailureSaysOfItself() {
        struct Busy: OperationFailure {
            var code: String { "busy" }
            var isRetryable: Bool { true }
            var retryAfter: Duration? { .seconds(7) }
            var description: String { "busy" }
        }
        struct Foreign: Error {}
        let policy = RetryPolicy(tries: 9)
        #expect(policy.decide(afterTry: 1, failure: Busy(), random: 0) == .retry(after: .seconds(7)))
        #expect(policy.decide(afterTry: 1, failure: Foreign(), random: 0) == .retry(after: .zero))
    }
}

@Suite struct CancellationFailureTests {
    private enum Typed: CancellationFailure, Equatable { case cancelled, other }
    private struct Silent: Error {}

    @Test func failureTypesSayCancelledWhereTheyCan() {
        #expect(cancellationFailure(Typed.self) == .cancelled)
        #expect(cancellationFailure((any Error).self) is CancellationError)
        #expect(cancellationFailure(CancellationError.self) != nil)
        #expect(cancellationFailure(Silent.self) == nil)
        #expect(cancellationFailure(Never.self) == nil)
    }
}
