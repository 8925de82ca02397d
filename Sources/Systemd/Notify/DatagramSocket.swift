import Glibc

/// The sending side of a Unix datagram socket.
final class DatagramSocket: Sendable {
    private let descriptor: Int32
    private let address: sockaddr_un
    private let addressLength: socklen_t

    /// - Parameter patience: How long one try of ``send(_:tries:)`` waits while the receiver's queue is full.
    init(to text: String, patience: Duration) throws(NotifyError) {
        let bytes = Array(text.utf8)
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        // An abstract name begins with NUL and may fill the array; a path keeps its final NUL.
        guard let first = bytes.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@"), bytes.count > 1,
            bytes.count <= capacity - 1
        else { throw .badAddress(text) }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            if first == UInt8(ascii: "@") { path[0] = 0 }
        }
        self.address = address
        let head = MemoryLayout<sockaddr_un>.size - capacity
        addressLength = socklen_t(head + bytes.count + (first == UInt8(ascii: "/") ? 1 : 0))

        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .failed(call: "socket", errno: errno) }
        // Otherwise a manager that does not read would block the thread forever.
        let time = patience.microseconds
        var limit = timeval(tv_sec: Int(time / 1_000_000), tv_usec: suseconds_t(time % 1_000_000))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ text: String, tries: Int) throws(NotifyError) {
        var text = text
        var left = tries
        let failure: Int32? = text.withUTF8 { bytes in
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { target in
                    while true {
                        let sent = sendto(
                            descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), target,
                            addressLength)
                        if sent >= 0 { return nil }
                        if errno == EINTR { continue }
                        left -= 1
                        if errno != EAGAIN || left <= 0 { return errno }
                    }
                }
            }
        }
        if let failure { throw .failed(call: "sendto", errno: failure) }
    }
}
