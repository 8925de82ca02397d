import Glibc

/// A loopback address that neither accepts nor refuses connections: a listener whose backlog is full.
final class Blackhole: Sendable {
    let address: String
    let port: UInt16
    private let descriptors: [Int32]

    struct Failed: Error { let code: Int32 }

    /// - Parameter port: The port; zero for any.
    init(_ address: String, port: UInt16) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = inet_addr(address)
        guard Self.call(&name, { bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0 else {
            let code = errno
            close(listener)
            throw Failed(code: code)
        }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = Self.call(&name) { pointer, _ in getsockname(listener, UnsafeMutablePointer(mutating: pointer), &length) }
        // A backlog of zero holds one connection; the kernel drops all further ones.
        let fillers = (0..<3).map { _ in
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            _ = Self.call(&name) { connect(filler, $0, $1) }
            return filler
        }
        self.address = address
        self.port = UInt16(bigEndian: name.sin_port)
        descriptors = [listener] + fillers
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    private static func call(
        _ name: inout sockaddr_in, _ use: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
