import Glibc
import Jobs
import Synchronization

/// How far the server's clock is ahead of this machine's, as measured around a request.
final class ClockOffset: Sendable {
    private let state = Mutex(Duration.zero)
    private let isServers: Bool

    /// - Parameter isServers: Whether the server's clock counts. Otherwise the offset is always zero.
    init(isServers: Bool) { self.isServers = isServers }

    var value: Duration { state.withLock(\.self) }

    /// The moment before a request, on this machine's wall clock.
    func start() -> Timestamp { wall() }

    /// Notes the server's time from about the middle of the request.
    func measured(_ server: Timestamp?, since start: Timestamp) {
        guard isServers, let server else { return }
        let half = (wall() - start) / 2
        state.withLock { $0 = server - (start + half) }
    }

    private func wall() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
