import CSystemd
import Glibc

/// A listening Unix socket that the service manager opened for this process. The receiver must close it.
public struct PassedSocket: Sendable, Hashable {
    /// The file descriptor.
    public var descriptor: Int32
    /// The name from `FileDescriptorName=` in the socket's unit; `unknown` if it has none.
    public var name: String

    /// Creates a value for a descriptor that is already open.
    public init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    /// Returns the sockets that the manager passed to this process, each closed on exec. Removes their
    /// variables from the environment, so that a second call returns none. Call it while the process has only
    /// one thread.
    ///
    /// - Throws: ``PassedSocketError`` if a descriptor is not a listening Unix stream socket.
    public static func takeAll() throws(PassedSocketError) -> [PassedSocket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count >= 0 else { throw .unreadable(errno: -count) }
        defer {
            for index in 0..<Int(count) { free(names?[index]) }
            free(names)
        }
        var sockets: [PassedSocket] = []
        for index in 0..<count {
            let descriptor = SD_LISTEN_FDS_START + index
            let name = names?[Int(index)].map { String(cString: $0) } ?? "unknown"
            try check(descriptor, name: name)
            sockets.append(PassedSocket(descriptor: descriptor, name: name))
        }
        return sockets
    }

    static func check(_ descriptor: Int32, name: String) throws(PassedSocketError) {
        let answer = sd_is_socket_unix(descriptor, Int32(SOCK_STREAM.rawValue), 1, nil, 0)
        guard answer > 0 else { throw .wrongKind(name: name, descriptor: descriptor) }
    }
}

/// Why the passed sockets cannot be used.
public enum PassedSocketError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The passed descriptors could not be determined.
    case unreadable(errno: Int32)
    /// A passed descriptor is not a listening Unix stream socket.
    case wrongKind(name: String, descriptor: Int32)

    public var description: String {
        switch self {
        case .unreadable(let code):
            "The sockets passed by the service manager cannot be read (error \(code)). Start the service again with systemctl."
        case .wrongKind(let name, let descriptor):
            "The passed descriptor \(descriptor) (\(name)) is not a listening Unix stream socket. Use ListenStream= with a path in the socket's unit."
        }
    }
}
