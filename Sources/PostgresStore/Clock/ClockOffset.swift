import Glibc
import Jobs
import Synchronization

/// How far the server's clock is ahead of this machine's, as measured around requests.
///
/// - O1: It keeps the server's time at the boot of this machine. So it stays right when this machine's wall clock is set.
/// - O2: The server read its clock between the request and the answer, so half of that time bounds the error. The best
///   measurement counts. Its bound grows with its age, because the two clocks run at slightly different rates.
/// - O3: A measurement outside the bounds shows that the server's clock was set, or that another server has taken over.
///   It counts at once.
struct OffsetEstimate {
    /// The server's time at this machine's boot, as the time since 1970.
    private var origin: Duration?
    private var bound = Duration.zero
    private var measuredAt = Duration.zero

    /// Clocks that are kept in step with others run up to 500 millionths too fast or too slowly, each of the two.
    private static let driftPerSecond = Duration.milliseconds(1)
    /// The server's time is a whole number of milliseconds.
    private static let rounding = Duration.milliseconds(1)

    /// Adds a measurement.
    ///
    /// - Parameters:
    ///   - server: The server's time.
    ///   - sentAt: The time since this machine's boot before the request.
    ///   - receivedAt: The time since this machine's boot after the answer.
    mutating func add(_ server: Timestamp, sentAt: Duration, receivedAt: Duration) {
        let half = (receivedAt - sentAt) / 2
        let new = Duration.milliseconds(server.milliseconds) - (sentAt + half)
        let newBound = half + Self.rounding
        if let origin {
            let bound = bound(at: receivedAt)
            let difference = new > origin ? new - origin : origin - new
            guard newBound <= bound || difference > bound + newBound else { return }
        }
        origin = new
        bound = newBound
        measuredAt = receivedAt
    }

    private func bound(at moment: Duration) -> Duration {
        bound + Self.driftPerSecond * ((moment - measuredAt) / .seconds(1))
    }

    /// The server's time; nil without a measurement.
    func serverTime(at sinceBoot: Duration) -> Duration? { origin.map { $0 + sinceBoot } }
}

/// The estimate that the threads of one store share.
final class ClockOffset: Sendable {
    private let estimate = Mutex(OffsetEstimate())

    /// The offset to add to this machine's wall clock; zero without a measurement.
    var value: Duration {
        let sinceBoot = read(CLOCK_BOOTTIME)
        guard let server = estimate.withLock({ $0.serverTime(at: sinceBoot) }) else { return .zero }
        return server - read(CLOCK_REALTIME)
    }

    /// The moment before a request.
    func start() -> Duration { read(CLOCK_BOOTTIME) }

    /// Adds the server's time from the answer to the request.
    func measured(_ server: Timestamp, since start: Duration) {
        let end = read(CLOCK_BOOTTIME)
        estimate.withLock { $0.add(server, sentAt: start, receivedAt: end) }
    }

    private func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
