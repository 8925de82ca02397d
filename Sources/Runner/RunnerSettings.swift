/// The limits of a runner.
public struct RunnerSettings: Sendable, Hashable {
    /// The number of attempts that may run at once in all queues; at least 1.
    public var slots: Int
    /// The wait after which a ready job counts as one priority higher.
    public var ageing: Duration
    /// A job that was the only running one in more crashes than this is failed with `crashed`.
    public var maxRescues: Int
    /// The time in which an attempt must stop after a timeout, a cancellation or an interrupt. After that, its end is
    /// recorded without waiting for it. It keeps its slot until it returns, and its result is dropped.
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
