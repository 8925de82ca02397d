import Glibc

/// The service manager's end of a notification socket.
final class DatagramListener {
    /// The value for `NOTIFY_SOCKET`.
    let address: String
    private let descriptor: Int32
    private let path: String?

    enum Space { case path, abstract }

    struct Failure: Error {
        var call: String
        var code: Int32
    }

    init(_ space: Space) throws {
        let unique = "\(getpid())-\(UInt64.random(in: 0 ... .max))"
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let text = space == .path ? "/tmp/halyard-notify-\(unique)" : "@halyard-notify-\(unique)"
        self.address = text
        path = space == .path ? text : nil
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            bytes.copyBytes(from: Array(text.utf8))
            if space == .abstract { bytes[0] = 0 }
        }
        let length = MemoryLayout<sa_family_t>.size + text.utf8.count + (space == .path ? 1 : 0)
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        descriptor = socket
        guard socket >= 0 else { throw Failure(call: "socket", code: errno) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, socklen_t(length)) }
        }
        guard bound == 0 else { throw Failure(call: "bind", code: errno) }
    }

    deinit {
        close(descriptor)
        if let path { unlink(path) }
    }

    /// Returns all datagrams that have arrived. Each is available as soon as `send` returns, so no waiting is needed.
    func received() -> [String] {
        var messages: [String] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count >= 0 else { return messages }
            messages.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }
}
