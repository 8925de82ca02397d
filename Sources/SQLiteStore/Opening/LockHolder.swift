import Glibc

/// The process that holds the lock of a database, as recorded in the lock file.
public struct LockHolder: Sendable, Hashable {
    /// The kind of process that holds the lock.
    public enum Role: String, Sendable, Hashable {
        /// A daemon, which holds the lock as long as it runs.
        case daemon
        /// A daemon that exits by itself and has no socket.
        case once
        /// A command, which holds the lock for one operation.
        case command
    }

    /// The process id; nil if it has not been written yet.
    public var pid: Int32?
    /// The kind of process; nil if it has not been written yet.
    public var role: Role?

    public init(pid: Int32?, role: Role?) {
        self.pid = pid
        self.role = role
    }

    /// - Parameter text: The contents of the lock file: the holder's number and its role, each on one line.
    init(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        pid = lines.first.flatMap { Int32($0) }
        role = lines.count > 1 ? Role(rawValue: String(lines[1])) : nil
    }

    var text: String { "\(pid.map(String.init) ?? "")\n\(role?.rawValue ?? "")\n" }

    /// Whether the holder is a running daemon. False if the file still names a daemon that has exited.
    public var isLivingDaemon: Bool {
        guard role == .daemon || role == .once, let pid else { return false }
        return kill(pid, 0) == 0 || errno == EPERM
    }
}
