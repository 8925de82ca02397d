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
            return receipt
        }
    }
}
