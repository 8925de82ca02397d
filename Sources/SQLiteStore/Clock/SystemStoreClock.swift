import Glibc
import Jobs

/// The clocks of the machine: `CLOCK_BOOTTIME` and `CLOCK_REALTIME`.
public struct SystemStoreClock: StoreClock {
    public init() {}

    public var boot: String { Self.bootOfTheMachine }

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

    /// The kernel's boot id; empty if `/proc` is not available. With an empty id every start counts as a new boot, and
    /// the wall clock measures the time between two starts.
    private static let bootOfTheMachine: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)).prefix { $0 > 0x20 }, as: UTF8.self)
    }()
}
