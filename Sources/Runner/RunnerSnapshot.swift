import Jobs

/// The state of a runner at one moment.
public struct RunnerSnapshot: Sendable, Hashable {
    public enum Phase: Sendable, Hashable {
        /// The claim loop has not turned yet.
        case starting
        case running
        /// The runner claims no more jobs. Running attempts have this long before they are interrupted.
        case draining(left: Duration)
        /// Running attempts were told to stop.
        case interrupting
        case ended
    }

    public var phase: Phase
    /// The number of running attempts.
    public var running: Int
    /// The number of attempts that were given up and have not returned. Each still has its slot.
    public var abandoned: Int
    public var slots: Int
    /// The number of ended attempts whose ends are not recorded yet.
    public var unrecorded: Int
    /// Whether the runner waits for an answer of the store.
    public var awaitsStore = false
    /// The problem that prevents an answer of the store. The runner tries again, and nothing is lost in the meantime.
    public var problem: StoreError?
    /// The accepted requests that the store cannot carry out completely at the moment.
    public var stuck: [StuckRequest] = []
}
