/// The limits of a runner.
public struct RunnerSettings: Sendable, Hashable {
    /// The maximum number of attempts that run at once in all queues; at least 1.
    public var slots: Int
    /// The wait after which a ready job counts as one priority higher. Each further wait of this length raises it by
    /// one more.
    public var ageing: Duration
    /// The number of crashes in which a job may have been the only running one. After more, it fails with `crashed`.
    public var maxRescues: Int
    /// The time that an attempt has to stop after a timeout, a cancellation or an interrupt. After that, the runner
    /// abandons it: it records the attempt's end without waiting for the operation, which keeps its slot until it
    /// returns, and whose result is dropped.
    public var grace: Duration

    /// Creates settings. Defaults: 256 slots, ageing after five minutes, three rescues, and five seconds to stop.
    public init(
        slots: Int = 256, ageing: Duration = .seconds(300), maxRescues: Int = 3, grace: Duration = .seconds(5)
    ) {
        self.slots = slots
        self.ageing = ageing
        self.maxRescues = maxRescues
        self.grace = grace
    }
}
