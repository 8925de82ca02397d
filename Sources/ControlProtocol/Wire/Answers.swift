import Jobs

/// The answer to one submission.
public enum SubmissionAnswer: Sendable, Hashable {
    /// The jobs are stored and survive a power cut.
    case enqueued(EnqueueReceipt)
    /// The key was used before for the same request. Nothing was added; the receipt is the first one.
    case duplicate(EnqueueReceipt)
    /// The submission was refused, and nothing was added.
    case refused(ControlProblem)

    /// Returns the receipt of this request, or of the first request with its key.
    ///
    /// - Throws: The problem of a refused submission.
    public func receipt() throws(ControlProblem) -> EnqueueReceipt {
        switch self {
        case .enqueued(let receipt), .duplicate(let receipt): receipt
        case .refused(let problem): throw problem
        }
    }
}

/// A request to change a queue.
public struct QueueRequest: Sendable, Hashable {
    /// The new settings.
    public var change: QueueChange
    /// Whether to create the queue if it does not exist.
    public var create: Bool
    /// Creates a request.
    public init(_ change: QueueChange, create: Bool = false) {
        self.change = change
        self.create = create
    }
}

/// A schedule to pause or to resume.
public struct ScheduleChange: Sendable, Hashable {
    /// Whether the schedule is to be paused.
    public var isPaused: Bool
    /// Creates a change.
    public init(isPaused: Bool) { self.isPaused = isPaused }
}

/// Jobs to cancel together, at most ``maxJobs``.
public struct CancelRequest: Sendable, Hashable {
    /// The maximum number of jobs in one request.
    public static let maxJobs = 10_000
    /// The jobs to cancel, each at most once.
    public var jobs: [JobID]
    /// Creates a request.
    public init(jobs: [JobID]) { self.jobs = jobs }
}

/// The result of cancelling one job.
public struct CancelAnswer: Sendable, Hashable {
    /// The job.
    public var job: JobID
    /// Whether the job was cancelled, or why it was not.
    public var result: CancelResult
    /// Creates an answer.
    public init(job: JobID, result: CancelResult) {
        self.job = job
        self.result = result
    }
}
