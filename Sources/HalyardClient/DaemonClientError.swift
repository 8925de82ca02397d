import ControlProtocol
import Jobs

/// The reason why a call of ``DaemonClient`` failed.
public enum DaemonClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The graph cannot be enqueued. Nothing was sent.
    case graph(JobGraphProblem)
    /// The daemon refused the request, or did not answer; ``ControlProblem/Code`` says whether repeating it is safe.
    case daemon(ControlProblem)
    /// The graph of this node was not enqueued.
    case notEnqueued(node: String)
    /// The job has not ended within the limit. It continues.
    case stillRunning(JobID)
    /// The job ended without an output, for this reason.
    case ended(JobID, Outcome, JobFailure)
    /// The output does not fit the signature of the kind.
    case unreadable(JobID, kind: String, reason: String)

    public var description: String {
        switch self {
        case .graph(let problem): "\(problem)"
        case .daemon(let problem): problem.description
        case .notEnqueued(let node): "node \"\(node)\" has no job yet; enqueue its graph first"
        case .stillRunning(let job): "job \(job) has not ended within the limit; it continues, so wait again"
        case .ended(let job, let outcome, let failure):
            "job \(job) ended as \(outcome.name) with \(failure.code): \(failure.message)"
        case .unreadable(let job, let kind, let reason):
            "the output of job \(job) does not fit the signature of the kind \(kind): \(reason); compare the signature with halyard result \(job)"
        }
    }
}
