import Jobs
import OperationTypes

/// The result of an operation, before the runner decides what to record.
enum AttemptResult: Sendable {
    case returned(JSONText, children: [NewGraph])
    case threw(TryFailure)
    /// The process that ran the operation ended.
    case crashed(Crash)
    /// The operation did not run, because the store could not return parts of its input, or because the process that
    /// should run it could not.
    case notRun

    var isValue: Bool {
        if case .returned = self { return true }
        return false
    }
}

/// The reason why an attempt was asked to stop.
enum StopReason: Sendable, Hashable {
    case timedOut(after: Duration)
    case cancelled
    case interrupted
    /// The holder's life may end, so the job may begin elsewhere.
    case lapsed

    var name: String {
        switch self {
        case .timedOut: "timeout"
        case .cancelled: "cancellation"
        case .interrupted: "the runner is stopping"
        case .lapsed: "the lease could not be renewed"
        }
    }
}

extension AttemptEnd.Ending {
    /// Decides what to record.
    ///
    /// A value counts even if the operation was asked to stop, because the work is done. An error after a request to
    /// stop counts as the response to that request, not as a failure of the operation.
    ///
    /// - Parameters:
    ///   - grace: The time that the attempt had to stop before it was abandoned; nil if it was not abandoned.
    ///   - tries: The number of tries used up before this attempt.
    ///   - maxCrashes: The number of crashes that the job survives when it runs alone.
    ///   - random: A uniform random number in `0..<1`.
    init(
        _ result: AttemptResult, stop: StopReason?, abandonedAfter grace: Duration? = nil, of definition: Definition,
        tries: Int, maxCrashes: Int, random: Double
    ) {
        let failedTry: TryFailure
        var timedOut = false
        switch (result, stop) {
        case (.returned(let output, let children), _):
            self = .succeeded(output, children: children)
            return
        case (_, .cancelled):
            self = .cancelled
            return
        case (_, .interrupted), (_, .lapsed), (.notRun, nil):
            self = .interrupted
            return
        case (.crashed(let crash), nil):
            self = .crashed(crash, maxCrashes: maxCrashes)
            return
        case (_, .timedOut(let limit)):
            failedTry = TryFailure(
                JobFailure(
                    code: JobFailure.Code.timedOut,
                    message:
                        "the attempt took longer than \(limit.human), the timeout of the definition \(definition.name); raise the timeout, or let the job do less."
                        + Self.stubbornness(grace)
                ),
                isRetryable: true)
            timedOut = true
        case (.threw(let thrown), nil):
            failedTry = thrown
        }
        let decision = definition.retry.decide(
            afterTry: tries + 1, code: failedTry.failure.code, isRetryable: failedTry.isRetryable,
            retryAfter: failedTry.retryAfter, random: random)
        switch decision {
        case .retry(let wait): self = .retry(failedTry.failure, timedOut: timedOut, after: wait)
        case .stop: self = .failed(failedTry.failure, timedOut: timedOut)
        }
    }

    /// A sentence about an attempt that did not stop in time; empty for any other. Its program may have ended: the attempt
    /// also keeps the result file, which may take long.
    private static func stubbornness(_ grace: Duration?) -> String {
        grace.map { " The attempt did not stop within \($0.human) of the request, and was abandoned." } ?? ""
    }
}
