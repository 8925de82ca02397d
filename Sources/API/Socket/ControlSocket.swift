import Glibc

/// A listening Unix socket, created here or passed by systemd.
///
/// Its mode applies from the moment it exists: at no time can other users connect.
public struct ControlSocket: Sendable {
    let descriptor: CInt
    /// The path of the socket's file; nil for a passed socket, whose file belongs to systemd.
    let path: String?
    private let identity: FileIdentity?

    /// Takes ownership of a socket that already listens.
    public init(passed descriptor: CInt) {
        self.descriptor = descriptor
        path = nil
        identity = nil
    }

    /// Binds a socket and listens. The directory must exist. Replaces a socket file on which nobody listens any
    /// more.
    ///
    /// - Parameters:
    ///   - mode: The permission bits of the socket file.
    ///   - backlog: The number of connections that may wait until they are accepted.
    /// - Throws: ``SocketError``, for example if another daemon listens on the path. Nothing was changed at
    ///   the path.
    public init(path: String, mode: mode_t = 0o660, backlog: CInt = 256) throws(SocketError) {
        try self.init(path: path, mode: mode, backlog: backlog, whenBound: {})
    }

    /// - Parameter whenBound: Called when the socket has its temporary name; tests change the path there.
    init(path: String, mode: mode_t, backlog: CInt, whenBound: () -> Void) throws(SocketError) {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | Self.closeOnExec | Self.nonBlocking, 0)
        guard descriptor >= 0 else { throw .system(path: path, call: "socket", code: errno) }
        do throws(SocketError) {
            try Self.checkExisting(path)
            // The socket is bound under another name and renamed once it listens, so that the path never leads
            // to a socket without a listener.
            let temporary = path + ".new"
            unlink(temporary)
            try Self.bind(descriptor, temporary, mode: mode, shownPath: path)
            whenBound()
            for (call, result) in [
                ("chmod", { chmod(temporary, mode) }), ("listen", { listen(descriptor, backlog) }),
                ("rename", { rename(temporary, path) }),
            ] as [(String, () -> CInt)] where result() != 0 {
                let code = errno
                unlink(temporary)
                throw SocketError.system(path: path, call: call, code: code)
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.path = path
        identity = FileIdentity(path)
    }

    /// Stops listening. Only for a socket with which no ``ControlServer`` was run, since the server closes its
    /// own.
    public func close() {
        removeFile()
        Glibc.close(descriptor)
    }

    /// Removes the file if it is still the file that this value created.
    func removeFile() {
        guard let path, let identity, FileIdentity(path) == identity else { return }
        unlink(path)
    }

    private static let closeOnExec: CInt = 0o2000000
    private static let nonBlocking: CInt = 0o4000

    private static func bind(
        _ descriptor: CInt, _ path: String, mode: mode_t, shownPath: String
    ) throws(SocketError) {
        // Linux gives the file the descriptor's mode without the bits of the umask. Changing the umask would
        // affect all threads. So the file is never more open than `mode`; the caller's chmod gives it exactly `mode`.
        guard fchmod(descriptor, mode) == 0 else { throw .system(path: shownPath, call: "fchmod", code: errno) }
        let result = try withAddress(path, shownPath: shownPath) { Glibc.bind(descriptor, $0, $1) }
        guard result == 0 else { throw .system(path: shownPath, call: "bind", code: errno) }
    }

    /// Refuses a path on which a daemon listens, or which is not a socket.
    private static func checkExisting(_ path: String) throws(SocketError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .system(path: path, call: "lstat", code: errno)
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path: path) }
        let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | closeOnExec | nonBlocking, 0)
        guard probe >= 0 else { throw .system(path: path, call: "socket", code: errno) }
        defer { Glibc.close(probe) }
        let result = try withAddress(path, shownPath: path) { Glibc.connect(probe, $0, $1) }
        // A full backlog (EAGAIN) also means that somebody listens.
        if result == 0 || errno == EAGAIN { throw .inUse(path: path) }
        guard errno == ECONNREFUSED || errno == ENOENT else { throw .system(path: path, call: "connect", code: errno) }
    }

    /// The maximum length of the socket's path in bytes. It leaves room for the longer temporary name.
    public static var maxPathBytes: Int {
        MemoryLayout.size(ofValue: sockaddr_un().sun_path) - ".new".utf8.count - 1
    }

    private static func withAddress(
        _ path: String, shownPath: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws(SocketError) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw .pathTooLong(path: shownPath, limit: maxPathBytes)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

private struct FileIdentity: Equatable, Sendable {
    let device: UInt
    let inode: UInt

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }
}
