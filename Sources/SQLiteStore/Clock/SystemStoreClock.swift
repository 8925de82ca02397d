import Glibc
import Jobs

/// The clocks of the machine: `CLOCK_BOOTTIME` and `CLOCK_REALTIME`.
public struct SystemStoreClock: StoreClock {
    public init() {}

    /// Empty if `/proc` is not available. With an empty id every start counts as a new boot, and the wall clock measures
    /// the time between two starts.
    public var boot: String { bootID ?? "" }

    public var sinceBoot: Duration {
        let time = read(CLOCK_BOOTTIME)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    public var wall: Timestamp {
        let time = read(CLOCK_REALTIME)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        let result = clock_gettime(clock, &time)
        precondition(result == 0, "these clocks exist on every Linux")
        return time
    }
}
