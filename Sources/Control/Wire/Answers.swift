import Jobs

/// The answer to one submission.
public enum SubmissionAnswer: Sendable, Hashable {
    case enqueued(EnqueueReceipt)
    /// The key was used before for the same request; nothing was added.
    case duplicate(EnqueueReceipt)
    case refused(ControlProblem)

    /// The receipt, from now or from the first use of the key.
    public func receipt() throws(ControlProblem) -> EnqueueReceipt {
        switch self {
        case .enqueued(let receipt), .duplicate(let receipt): receipt
        case .refused(let problem): throw problem
        }
    }
}

extension JobControl {
    /// Accepts one submission completely or not at all. A key that was already used for the same request returns the
    /// first receipt, so a retry with a key is safe.
    public func enqueue(_ submission: Submission) async throws(ControlProblem) -> EnqueueReceipt {
        guard let answer = try await enqueue([submission]).first else {
            throw ControlProblem(.internal, "A submission was not answered. Please report this.")
        }
        return try answer.receipt()
    }
}

/// A request to change a queue.
public struct QueueRequest: Sendable, Hashable {
    public var change: QueueChange
    /// Whether to create the queue if it does not exist.
    public var create: Bool
    public init(_ change: QueueChange, create: Bool = false) {
        self.change = change
        self.create = create
    }
}

/// A schedule to pause or to resume.
public struct ScheduleChange: Sendable, Hashable {
    public var isPaused: Bool
    public init(isPaused: Bool) { self.isPaused = isPaused }
}

/// Jobs to cancel together, at most ``maxJobs``.
public struct CancelRequest: Sendable, Hashable {
    public static let maxJobs = 10_000
    public var jobs: [JobID]
    public init(jobs: [JobID]) { self.jobs = jobs }
}

public struct CancelAnswer: Sendable, Hashable {
    public var job: JobID
    public var result: CancelResult
    public init(job: JobID, result: CancelResult) {
        self.job = job
        self.result = result
    }
}
