/// One message to the service manager; see `sd_notify(3)`.
public enum Notification: Sendable, Hashable {
    /// The start or the reload is complete.
    case ready
    /// One line for `systemctl status`.
    case status(String)
    /// Proves that the service still works.
    case watchdog
    /// Asks the manager to treat the service as hung at once.
    case watchdogTrigger
    /// The service is stopping.
    case stopping
    /// The service reads its configuration again. `at` is the time on the monotonic clock, in microseconds.
    case reloading(at: UInt64)
    /// The start, stop or reload takes this much longer, counted from now.
    case extendTimeout(by: Duration)
    /// The error code with which the service failed.
    case errno(Int32)

    /// Whether a lost message would do harm. The next status or watchdog message makes up for a lost one; the
    /// other messages are not repeated.
    var mustArrive: Bool {
        switch self {
        case .status, .watchdog: false
        case .ready, .watchdogTrigger, .stopping, .reloading, .extendTimeout, .errno: true
        }
    }

    var line: String {
        switch self {
        case .ready: "READY=1"
        case .status(let text): "STATUS=\(text.singleLine)"
        case .watchdog: "WATCHDOG=1"
        case .watchdogTrigger: "WATCHDOG=trigger"
        case .stopping: "STOPPING=1"
        case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
        case .extendTimeout(let duration): "EXTEND_TIMEOUT_USEC=\(duration.microseconds)"
        case .errno(let code): "ERRNO=\(code)"
        }
    }
}

extension Duration {
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
