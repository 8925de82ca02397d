import Control
import Jobs

extension SubmissionAnswer {
    /// Prints the number of each job, or the answer as JSON; throws what was refused.
    func tell(isJSON: Bool, in surroundings: Surroundings) throws -> EnqueueReceipt {
        switch self {
        case .refused(let problem): throw CommandFailure(problem)
        case .enqueued(let receipt), .duplicate(let receipt):
            if isJSON {
                try surroundings.output.json(json)
            } else {
                for job in receipt.jobs { try surroundings.output.line("\(job)") }
            }
            if case .duplicate = self {
                try surroundings.note("the key was used before; nothing was added")
            }
            if let text = receipt.skippedText { try surroundings.note(text) }
            return receipt
        }
    }
}

extension EnqueueReceipt {
    /// What was skipped at once; nil when nothing was.
    var skippedText: StyledText? {
        guard let first = skipped.first else { return nil }
        let others = skipped.count - 1
        return
            "job \(first)\(others > 0 ? " and \(others) more" : "") will not run: what it waits for had already ended otherwise. See: halyard why \(first)"
    }
}
