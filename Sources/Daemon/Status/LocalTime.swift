import Glibc
import Jobs
import Runner

/// Formats a future time in the machine's time zone: `14:05` if it is less than a day after `now`, otherwise
/// `2026-02-03 14:05`.
func localTime(_ moment: Timestamp, now: Timestamp) -> String {
    var seconds = time_t(moment.milliseconds / 1000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let clock = "\(two(parts.tm_hour)):\(two(parts.tm_min))"
    let distance = moment.milliseconds - now.milliseconds
    if distance < 86_400_000 { return clock }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) \(clock)"
}

/// Returns the current time of a store, whose clock may differ from this machine's (``JobStore/clockOffset``).
func now(of store: any JobStore) -> Timestamp { wallClock() + store.clockOffset }

/// Returns the time of the wall clock.
func wallClock() -> Timestamp { SystemWallClock().now }
