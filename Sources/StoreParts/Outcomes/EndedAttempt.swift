import Jobs

/// How an attempt ended, as it is stored.
package struct EndedAttempt {
    package let outcome: AttemptOutcome
    package let failure: JobFailure?
    package let retryAt: Timestamp?

    package init(_ outcome: AttemptOutcome, _ failure: JobFailure? = nil, retryAt: Timestamp? = nil) {
        self.outcome = outcome
        self.failure = failure
        self.retryAt = retryAt
    }
}

extension EndedAttempt {
    package init(_ end: LastEnd, _ company: Company, isOnTrial: Bool) {
        let beside = company.others + company.abandoned
        let trial =
            isOnTrial ? " It was running during several crashes, so it first runs separately from other jobs." : ""
        switch end {
        case .unrelated(let reason):
            self.init(.interrupted, JobFailure(code: JobFailure.Code.interrupted, message: reason + " while it ran."))
        case .crashed(let cause):
            let word = cause.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
            let failure = JobFailure(
                code: JobFailure.Code.crashed,
                message:
                    "The daemon crashed (\(cause)) while \(company.text); see the journal from that time.\(trial)")
            self.init(.crashed, failure.counted(beside: beside, cause: word))
        case .unexplained:
            let failure = JobFailure(
                code: JobFailure.Code.crashed,
                message: "The daemon ended while \(company.text); see the journal from that time.\(trial)")
            self.init(.crashed, failure.counted(beside: beside, cause: nil))
        }
    }
}
