/// One message to the service manager, as `sd_notify(3)` describes them.
public enum Notification: Sendable, Hashable {
    /// Started, or reloaded.
    case ready
    /// One line for `systemctl status`.
    case status(String)
    case watchdog
    /// Asks to be treated as hung, at once.
    case watchdogTrigger
    case stopping
    /// `at` is the monotonic clock in microseconds.
    case reloading(at: UInt64)
    /// Start, stop or reload takes this much longer, counted from now.
    case extendTimeout(by: Duration)
    case errno(Int32)

    /// The next one makes up for a status or a ping that is lost; nothing does for the others.
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
