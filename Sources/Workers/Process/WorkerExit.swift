import Glibc
import Processes

/// How a process ended.
enum WorkerExit: Sendable, Hashable {
    /// The process could not be started, for this reason.
    case notStarted(String)
    case exited(Int32)
    case signalled(Int32)
    /// Other code of this program has reaped the process.
    case unknown

    /// A clause that follows the name of the process.
    var clause: String {
        switch self {
        case .notStarted(let reason): "could not be started (\(reason))"
        case .exited(let status): "exited with status \(status)"
        case .signalled(let signal): "was killed by \(Self.name(of: signal))"
        case .unknown: "ended"
        }
    }

    /// Whether the process's own code ended it. SIGKILL comes from outside: from a person, or from the kernel when
    /// memory is short.
    var isExplained: Bool { self != .signalled(SIGKILL) && self != .unknown }

    /// The cause for machines, such as `SIGILL` or `exit 3`.
    var cause: String {
        switch self {
        case .notStarted: "not started"
        case .exited(let status): "exit \(status)"
        case .signalled(let signal): Self.name(of: signal)
        case .unknown: "unknown"
        }
    }

    init(_ end: ProcessEnd) {
        switch end.status {
        case .exited(let status): self = .exited(status)
        case .signalled(let signal, _): self = .signalled(signal)
        case .unknown: self = .unknown
        }
    }

    private static func name(of signal: Int32) -> String {
        let names = [
            SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
            SIGSEGV: "SIGSEGV", SIGKILL: "SIGKILL", SIGTERM: "SIGTERM", SIGINT: "SIGINT", SIGHUP: "SIGHUP",
            SIGPIPE: "SIGPIPE", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ", SIGSYS: "SIGSYS",
        ]
        return names[signal] ?? "signal \(signal)"
    }
}
