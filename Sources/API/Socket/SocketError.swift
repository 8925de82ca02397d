import Glibc

/// Why the control socket cannot be opened.
public enum SocketError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process listens on the socket.
    case inUse(path: String)
    /// The path exists and is not a socket.
    case notASocket(path: String)
    /// The path has more bytes than a socket's address can contain, or none.
    case pathTooLong(path: String, limit: Int)
    /// A system call failed with the `errno` in `code`.
    case system(path: String, call: String, code: CInt)

    public var description: String {
        switch self {
        case .inUse(let path):
            "Another daemon listens on \(path). Stop it, or choose another socket for this one."
        case .notASocket(let path):
            "\(path) exists and is not a socket. Move it, or choose another path for the socket."
        case .pathTooLong(let path, let limit):
            "The socket's path \(path) has \(path.utf8.count) bytes; choose a path of 1 to \(limit) bytes."
        case .system(let path, let call, let code):
            "The socket \(path) cannot be opened (\(call): \(String(cString: strerror(code)))). Its directory must exist and be writable by the daemon's user."
        }
    }
}
