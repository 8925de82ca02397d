/// How many jobs a runner takes on, and how patient it is.
public struct RunnerSettings: Sendable, Hashable {
    /// How many attempts may run at once, over all queues; at least 1.
    public var slots: Int
    /// The wait after which a ready job counts as one priority higher.
    public var ageing: Duration
    /// A job that was the only running one in more crashes than this is failed with `crashed`.
    public var maxRescues: Int
    /// How long an attempt that was told to stop (timeout, cancellation, interrupt) has to do so. After that its end is
    /// recorded without it; it keeps its slot until it really returns, and what it returns is dropped.
    public var grace: Duration

    public init(
        slots: Int = 256, ageing: Duration = .seconds(300), maxRescues: Int = 3, grace: Duration = .seconds(5)
    ) {
        self.slots = slots
        self.ageing = ageing
        self.maxRescues = maxRescues
        self.grace = grace
    }
}
