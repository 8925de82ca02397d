import Control
import Testing

@testable import Commands

/// What is said when the daemon cannot go on in the middle of many lines.
@Suite struct LineSubmissionTests {
    @Test func onlyWhatWasNotTakenIsToBeSentAgain() {
        let problem = ControlProblem(.unavailable, "The disk is full.")
        let failure = LineSubmission.stopped(at: 7, problem, after: (accepted: 5, refused: 1))
        #expect(
            failure.details == ["5 lines before it enqueued, 1 refused. When the daemon runs, send again from line 7."])
    }

    @Test func whatIsNotKnownIsNotToBeSentAgainBlindly() {
        let problem = ControlProblem(.unknownOutcome, "The daemon ended the connection.")
        let failure = LineSubmission.stopped(at: 7, problem, after: (accepted: 6, refused: 0))
        #expect(
            failure.details == [
                "6 lines before it enqueued, 0 refused. Whether line 7 and what follows were enqueued is not known: look before you send them again."
            ])
    }
}
