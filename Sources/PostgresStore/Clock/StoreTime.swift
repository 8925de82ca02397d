import Glibc
import Jobs
import StoreParts
import Synchronization

/// The server's clock, as the last statement has read it.
final class ServerClock: StoreClock {
    private let last = Atomic<Int64>(0)

    var boot: String { "server" }
    var sinceBoot: Duration { .milliseconds(last.load(ordering: .relaxed)) }
    var wall: Timestamp { Timestamp(milliseconds: last.load(ordering: .relaxed)) }

    func read(_ milliseconds: Int64) { last.store(milliseconds, ordering: .relaxed) }
}

/// The time of a store's transactions: the server's, so that no daemon's clock decides anything, or a clock that a test
/// controls. Waits are measured on the server's clock too, which a server's administrator keeps from jumping.
struct StoreTime {
    var steady: SteadyClock
    /// Nil if the callers' time counts.
    let server: ServerClock?

    init(_ clock: (any StoreClock)?) {
        let server = clock == nil ? ServerClock() : nil
        self.server = server
        steady = SteadyClock(clock ?? server!)
    }

    /// The time of the running transaction.
    ///
    /// - Parameter passed: The caller's time.
    func now(_ passed: Timestamp) -> Timestamp { server?.wall ?? passed }
}

/// The identifier of the machine's current boot; empty if `/proc` is not available.
func currentBoot() -> String {
    let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
}
