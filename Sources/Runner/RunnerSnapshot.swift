import Jobs

/// How a runner is doing at one moment.
public struct RunnerSnapshot: Sendable, Hashable {
    public enum Phase: Sendable, Hashable {
        /// The claim loop has not turned yet.
        case starting
        case running
        /// Claims nothing more; running attempts have this long before they are interrupted.
        case draining(left: Duration)
        /// Running attempts were told to stop.
        case interrupting
        case ended
    }

    public var phase: Phase
    /// Attempts that run.
    public var running: Int
    /// Attempts that were given up and have not returned; each still takes a slot.
    public var abandoned: Int
    public var slots: Int
    /// Ends of attempts that are not recorded yet.
    public var unrecorded: Int
    /// Whether the store has been asked and has not answered yet.
    public var awaitsStore = false
    /// What keeps the store from answering; the runner tries again, and nothing is lost meanwhile.
    public var problem: StoreError?
}
