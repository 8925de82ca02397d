import Glibc

/// Who holds the lock of a database, as it wrote into the lock file.
public struct LockHolder: Sendable, Hashable {
    public enum Role: String, Sendable, Hashable {
        /// Holds it for as long as it runs.
        case daemon
        /// A daemon that ends by itself, and until then listens nowhere.
        case once
        /// Holds it for one piece of work.
        case command
    }

    /// Nil where it has not been written yet.
    public var pid: Int32?
    public var role: Role?

    public init(pid: Int32?, role: Role?) {
        self.pid = pid
        self.role = role
    }

    /// What a holder writes: its number and its role, a line each.
    init(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        pid = lines.first.flatMap { Int32($0) }
        role = lines.count > 1 ? Role(rawValue: String(lines[1])) : nil
    }

    var text: String { "\(pid.map(String.init) ?? "")\n\(role?.rawValue ?? "")\n" }

    /// False also for what a daemon that is gone has left, until the next holder has written.
    public var isLivingDaemon: Bool {
        guard role == .daemon || role == .once, let pid else { return false }
        return kill(pid, 0) == 0 || errno == EPERM
    }
}
