import Jobs
import OperationTypes

/// A message from the daemon to a worker.
public enum DaemonMessage: Hashable, Sendable {
    /// The first message. The worker answers with ``WorkerMessage/kinds(_:)`` or ``WorkerMessage/refused(_:)``.
    case hello(Hello)
    /// One dependency's output, which precedes the ``run(_:)`` of its attempt.
    case output(DependencyMessage)
    /// Starts an attempt. The worker answers with ``WorkerMessage/started(_:)``, and later with its end.
    case run(Run)
    /// Answers ``WorkerMessage/checkpoint(_:id:_:)``: the checkpoint is durable.
    case checkpointed(Lease, id: Int)
    /// Answers ``WorkerMessage/checkpoint(_:id:_:)``: the checkpoint was refused, or it is not confirmed that it was saved.
    case checkpointRefused(Lease, id: Int, CheckpointRefusal)
    /// Asks a running attempt to stop. It is sent at most once for an attempt, and may arrive after its end.
    case stop(Lease, StopRequest)
    /// Asks whether inputs can be accepted. The worker answers with ``WorkerMessage/checked(id:refusals:)``.
    case check(id: Int, [PlannedInput])
    /// The success of an attempt of a kind is durable, so the worker can remove data kept for another attempt.
    /// Another process of the worker may have run the attempt.
    case recorded(Lease, kind: String)
    /// Asks the worker to clean up after ended jobs. It answers with ``WorkerMessage/cleanedUp(id:isAnythingLeft:)``.
    case cleanUp(id: Int)
    /// Answers ``WorkerMessage/jobState(id:kind:job:)``. The state is nil if there is no such job of this kind.
    case jobState(id: Int, JobState?)
    /// Asks for a sign of life. The worker answers with ``WorkerMessage/pong(id:)`` when its tasks can run.
    case ping(id: Int)
    /// Asks the worker to finish what runs and then to exit with status 0. No attempt follows.
    case drain
}

/// The introduction of the daemon.
public struct Hello: Hashable, Sendable {
    /// The version of the protocol that the daemon speaks: ``WorkerProtocol/version``.
    public var protocolVersion: Int
    /// The daemon's own version.
    public var version: String
    /// The maximum number of attempts that run at once.
    public var attempts: Int
    /// Whether the daemon saves checkpoints. One that does not takes ``WorkerMessage/checkpoint(_:id:_:)`` for an invalid
    /// message.
    public var savesCheckpoints: Bool
    /// The administrator's settings for this worker, a JSON object.
    public var settings: JSONText

    /// Creates an introduction of this version. Default: 256 attempts, with checkpoints, and no settings.
    public init(
        protocolVersion: Int = WorkerProtocol.version, version: String, attempts: Int = 256,
        savesCheckpoints: Bool = true, settings: JSONText = .emptyObject
    ) {
        self.protocolVersion = protocolVersion
        self.version = version
        self.attempts = attempts
        self.savesCheckpoints = savesCheckpoints
        self.settings = settings
    }
}

/// The output of one dependency of an attempt.
public struct DependencyMessage: Hashable, Sendable {
    /// The attempt that will run with this output.
    public var lease: Lease
    /// The name of the kind that produced the output.
    public var kind: String
    /// The output.
    public var output: JSONText

    /// Creates a message.
    public init(lease: Lease, kind: String, output: JSONText) {
        self.lease = lease
        self.kind = kind
        self.output = output
    }
}

/// The beginning of an attempt.
public struct Run: Hashable, Sendable {
    /// The job and the number of the attempt.
    public var lease: Lease
    /// The name of the kind to run.
    public var kind: String
    /// The definition's input, overlaid by the job's input. The outputs of dependencies are not part of it.
    public var input: JSONText
    /// The last checkpoint of an earlier attempt; nil if there is none.
    public var checkpoint: JSONText?
    /// The number of tries that earlier attempts used up.
    public var tries: Int
    /// The policy that decides whether a failed attempt is followed by another one.
    public var retry: RetryPolicy
    /// The longest duration of the attempt; nil if it has no limit.
    public var timeout: Duration?

    /// Creates a message.
    public init(
        lease: Lease, kind: String, input: JSONText, checkpoint: JSONText? = nil, tries: Int = 0,
        retry: RetryPolicy = .never, timeout: Duration? = nil
    ) {
        self.lease = lease
        self.kind = kind
        self.input = input
        self.checkpoint = checkpoint
        self.tries = tries
        self.retry = retry
        self.timeout = timeout
    }
}

/// The reason why a checkpoint was not saved, or not confirmed.
public struct CheckpointRefusal: Hashable, Sendable {
    /// The reasons.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The checkpoint is larger than ``Checkpoint/maxBytes``.
        case tooLarge = "too_large"
        /// The attempt no longer holds its job.
        case leaseLost = "lease_lost"
        /// The store did not confirm it. If a connection broke meanwhile, it may be saved nevertheless. Saving again later
        /// may succeed.
        case notSaved = "not_saved"
    }

    /// The reason.
    public var reason: Reason
    /// The reason and the remedy for people, in sentences.
    public var message: String

    /// Creates a refusal.
    public init(_ reason: Reason, message: String) {
        self.reason = reason
        self.message = message
    }
}

/// The reason why a running attempt should stop.
public struct StopRequest: Hashable, Sendable {
    /// The reasons.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// Somebody cancelled the job.
        case cancelled
        /// The attempt took longer than its definition's timeout.
        case timedOut = "timed_out"
        /// The daemon is stopping; the job runs again.
        case interrupted
    }

    /// The reason.
    public var reason: Reason
    /// Whether the job will not run again, so that work begun elsewhere may be undone.
    public var isForGood: Bool

    /// Creates a request.
    public init(_ reason: Reason, isForGood: Bool) {
        self.reason = reason
        self.isForGood = isForGood
    }
}
