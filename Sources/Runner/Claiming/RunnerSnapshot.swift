import Jobs

/// The state of a runner at one moment.
public struct RunnerSnapshot: Sendable, Hashable {
    /// The stages of a runner's life, in order.
    public enum Phase: Sendable, Hashable {
        /// The claim loop has not completed its first exchange.
        case starting
        /// The runner claims and runs jobs.
        case running
        /// The runner claims no more jobs. Running attempts are interrupted after `left`.
        case draining(left: Duration)
        /// Running attempts have been asked to stop.
        case interrupting
        /// The claim loop has ended.
        case ended
    }

    /// The current stage.
    public var phase: Phase
    /// The number of running attempts.
    public var running: Int
    /// The number of abandoned attempts whose operations have not returned. Each still occupies a slot.
    public var abandoned: Int
    /// The number of slots, from ``RunnerSettings/slots``.
    public var slots: Int
    /// The number of attempts that have ended but whose ends are not recorded yet.
    public var unrecorded: Int
    /// Whether the runner is waiting for the store.
    public var awaitsStore = false
    /// Whether the lease of all attempts could not be renewed in time, so that nothing runs until a new life begins.
    public var hasLapsed = false
    /// When the runner's holder was drained, so that it claims nothing; nil if it is not.
    public var drainedAt: Timestamp?
    /// The reason why writes to the store fail (``StoreCondition/problem``); nil if they succeed. The runner retries, and
    /// nothing is lost in the meantime.
    public var problem: StoreError?
    /// The accepted requests that the store cannot complete at the moment.
    public var stuck: [StuckRequest] = []
}
