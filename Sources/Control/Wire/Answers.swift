import Jobs

/// What became of one submission.
public enum SubmissionAnswer: Sendable, Hashable {
    case enqueued(EnqueueReceipt)
    /// The key was used before for the same request; nothing was added.
    case duplicate(EnqueueReceipt)
    case refused(ControlProblem)
}

public struct CancelAnswer: Sendable, Hashable {
    public var job: JobID
    public var result: CancelResult
    public init(job: JobID, result: CancelResult) {
        self.job = job
        self.result = result
    }
}
