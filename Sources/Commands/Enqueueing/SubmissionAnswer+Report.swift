import ControlProtocol
import Jobs

extension SubmissionAnswer {
    /// Prints the number of each job, or the answer as JSON. Throws the problem of a refused submission. If the
    /// output cannot be written, the jobs are still enqueued, and the failure names them.
    func report(in session: Session) throws -> EnqueueReceipt {
        switch self {
        case .refused(let problem): throw CommandFailure(problem)
        case .enqueued(let receipt), .duplicate(let receipt):
            do {
                try session.print(self) { for job in receipt.jobs { try $0.line("\(job)") } }
                try session.output.flush()
            } catch var failure as CommandFailure where failure.exit == .inputOutput {
                failure.details.append("Do not enqueue again: \(receipt.jobsText) stored.")
                throw failure
            }
            if case .duplicate = self {
                try session.note("the key was used before; nothing new was enqueued")
            }
            if let text = receipt.skippedText { try session.note(text) }
            return receipt
        }
    }
}

extension EnqueueReceipt {
    /// Returns `job 4 is` or `jobs 4, 5, 6 are`.
    fileprivate var jobsText: String {
        let named = jobs.prefix(10).map { "\($0)" }.joined(separator: ", ")
        let others = jobs.count > 10 ? " and \(jobs.count - 10) more" : ""
        return jobs.count == 1 ? "job \(named) is" : "jobs \(named)\(others) are"
    }

    /// A note about the jobs that were skipped at once; nil if there are none.
    var skippedText: StyledText? {
        guard let first = skipped.first else { return nil }
        let others = skipped.count - 1
        return
            "job \(first)\(others > 0 ? " and \(others) more" : "") will not run: a dependency had already ended with another outcome. See: halyard why \(first)"
    }
}
