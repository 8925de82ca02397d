import OperationTypes

/// A worker program as the runner sees it: it runs attempts in other processes.
public protocol KindHost: AnyObject, Sendable {
    /// Begins an attempt, or lets it wait for a process. Several calls may be sent together by ``flush()``.
    ///
    /// `attempt.onEnd` is called exactly once, from any thread, whatever happens to the process.
    func run(_ attempt: HostedAttempt)
    /// Sends what earlier calls left unsent. It does not block.
    func flush()
    /// Asks an attempt to stop. An attempt that has not begun ends at once with ``HostedEnd/notRun``.
    func stop(_ lease: Lease, _ reason: HostedStop)
    /// Gives up an attempt that did not stop in time. The host ends its process as soon as that harms no other attempt.
    ///
    /// - Parameter grace: The time that the attempt had to stop.
    func abandon(_ lease: Lease, after grace: Duration)
    /// The success of the attempt is durable.
    func recorded(_ lease: Lease, kind: String)

    /// How many more attempts may begin now, of all its kinds together.
    var room: Int { get }
    /// How many more suspects may begin now (``ClaimedJob/isSuspect``); nil for any number.
    var roomForSuspects: Int? { get }

    /// The reason why no attempt can begin now, for people; nil if attempts can begin.
    var problem: String? { get }
    /// Calls `body` whenever attempts may begin that had no room before, other than through the end of an attempt. It
    /// replaces the former observer.
    func observeRoom(_ body: @escaping @Sendable () -> Void)

    /// Returns the reason to refuse each input, in the same order; nil if it can be accepted, or if no process answers
    /// in time.
    func refusals(of inputs: [PlannedInput]) async -> [InputRefusal?]
    /// Lets the kinds clean up after ended jobs, as ``Kind/cleanUp(asking:)``.
    ///
    /// - Parameter state: Returns the state of a job of a kind; nil if there is none.
    /// - Returns: Whether some state is left to clean up later.
    func cleanUp(
        asking state: @escaping @Sendable (JobID, _ kind: String) async throws(StoreError) -> JobState?
    ) async -> Bool
}

/// One attempt that another process runs.
public struct HostedAttempt: Sendable {
    /// The job and the number of the attempt.
    public var lease: Lease
    /// The name of the kind.
    public var kind: String
    /// The definition's input, overlaid by the job's input.
    public var input: JSONText
    /// The program of the definition; nil unless the kind is ``ProgramDefinition/kind``.
    public var program: ProgramDefinition?
    /// The outputs of the dependencies that the kind accepts, in declared order.
    public var dependencies: [DependencyOutput]
    /// The last checkpoint of an earlier attempt; nil if there is none.
    public var checkpoint: JSONText?
    /// The number of tries that earlier attempts used up.
    public var tries: Int
    /// The policy that decides whether another attempt follows a failure.
    public var retry: RetryPolicy
    /// The longest duration of the attempt; nil if it has no limit.
    public var timeout: Duration?
    /// Whether the attempt must run alone in its process.
    public var isSuspect: Bool
    /// Called when the process has begun the attempt.
    public var onBegin: @Sendable () -> Void
    /// Receives reports of progress.
    public var onProgress: @Sendable (OperationProgress) -> Void
    /// Receives a checkpoint of the attempt, and a closure to call once with the answer: nothing when it is durable.
    public var onCheckpoint: @Sendable (JSONText, @escaping @Sendable (Result<Void, CheckpointError>) -> Void) -> Void
    /// Receives the requests that the attempt has sent so far, a JSON array of ``ConnectionRecord``.
    public var onConnections: @Sendable (JSONText) -> Void
    /// Receives the resources that the attempt's processes used, before its end.
    public var onUsage: @Sendable (AttemptUsage) -> Void
    /// Called once, when the attempt has ended.
    public var onEnd: @Sendable (HostedEnd) -> Void

    /// Creates an attempt.
    public init(
        lease: Lease, kind: String, input: JSONText, program: ProgramDefinition? = nil,
        dependencies: [DependencyOutput] = [], checkpoint: JSONText? = nil, tries: Int = 0, retry: RetryPolicy = .never,
        timeout: Duration? = nil,
        isSuspect: Bool = false, onBegin: @escaping @Sendable () -> Void = {},
        onProgress: @escaping @Sendable (OperationProgress) -> Void = { _ in },
        onCheckpoint:
            @escaping @Sendable (
                JSONText, @escaping @Sendable (Result<Void, CheckpointError>) -> Void
            ) -> Void = { $1(.failure(.leaseLost)) },
        onConnections: @escaping @Sendable (JSONText) -> Void = { _ in },
        onUsage: @escaping @Sendable (AttemptUsage) -> Void = { _ in },
        onEnd: @escaping @Sendable (HostedEnd) -> Void
    ) {
        self.lease = lease
        self.kind = kind
        self.input = input
        self.program = program
        self.dependencies = dependencies
        self.checkpoint = checkpoint
        self.tries = tries
        self.retry = retry
        self.timeout = timeout
        self.isSuspect = isSuspect
        self.onBegin = onBegin
        self.onProgress = onProgress
        self.onCheckpoint = onCheckpoint
        self.onConnections = onConnections
        self.onUsage = onUsage
        self.onEnd = onEnd
    }
}

/// The end of an attempt in another process.
public enum HostedEnd: Sendable, Hashable {
    /// The attempt succeeded with this output, and enqueues these children.
    case succeeded(JSONText, children: [ChildJob])
    /// The attempt failed, or ended after a request to stop.
    case failed(TryFailure)
    /// The process ended while the attempt ran.
    case crashed(Crash)
    /// The attempt never began, or its process was ended because of another attempt.
    case notRun
}

/// The reason why an attempt in another process should stop.
public enum HostedStop: Sendable, Hashable {
    /// Somebody cancelled the job.
    case cancelled
    /// The attempt took too long. `isForGood` states whether the job will not run again.
    case timedOut(isForGood: Bool)
    /// The runner is stopping; the job runs again.
    case interrupted
}
