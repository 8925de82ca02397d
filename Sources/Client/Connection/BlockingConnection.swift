import ControlProtocol
import Glibc
import NIOCore

/// A connection whose exchanges block the calling thread, for a program with nothing else to do in the
/// meantime. In a short program, starting an event loop takes longer than the exchange itself.
final class BlockingConnection: ExchangeConnection {
    private let descriptor: CInt

    /// How many seconds the kernel makes the caller wait while the socket's queue is full.
    private static let maxQueueing = 5

    init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isTooLong = withUnsafeMutableBytes(of: &address.sun_path) { room in
            // The last byte stays zero.
            guard path.utf8.count < room.count else { return true }
            room.copyBytes(from: path.utf8)
            return false
        }
        if isTooLong { throw SocketAddressError.unixDomainSocketPathTooLong }
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        var limit = timeval(tv_sec: Self.maxQueueing, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                // After EINTR, a Unix socket is not connected, so the call can be repeated.
                Self.repeated { connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        }
        guard result == 0 else { throw IOError(errnoCode: errno, reason: "connect") }
    }

    deinit { close(descriptor) }

    /// The daemon sends nothing unless asked, so a readable socket means that the daemon closed the connection.
    var isOpen: Bool {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return Self.repeated { poll(&poller, 1, 0) } == 0
    }

    func end() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Sends and reads at the same time, since the daemon may answer before it has read the whole request.
    func exchange(_ call: Call, until giveUpAt: NIODeadline) throws -> Answer {
        var unsent = call.bytes[...]
        var isCut = false
        var response = ResponseReader()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !response.isComplete {
            if !unsent.isEmpty, !isCut {
                let count = unsent.withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
                }
                if count > 0 {
                    unsent = unsent.dropFirst(count)
                } else if errno != EAGAIN, errno != EINTR {
                    // The daemon no longer reads. Its answer, or the end of the connection, gives the reason.
                    isCut = true
                }
            }
            let sends = !unsent.isEmpty && !isCut
            guard try isReadable(orWritable: sends, until: giveUpAt) else { continue }
            let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            switch count {
            case 1...: try response.read(buffer[..<count])
            case 0: try response.readEnd()
            default:
                guard errno == EAGAIN || errno == EINTR else { throw IOError(errnoCode: errno, reason: "recv") }
            }
        }
        var answer = response.answer
        if !unsent.isEmpty { answer.keepsConnection = false }
        return answer
    }

    /// Waits until the socket is readable, or writable if `orWritable` is set. Returns whether it is readable.
    private func isReadable(orWritable: Bool, until giveUpAt: NIODeadline) throws -> Bool {
        while true {
            let rest = giveUpAt - .now()
            guard rest > .zero else { throw ConnectionError.timedOut }
            var poller = pollfd(fd: descriptor, events: Int16(orWritable ? POLLIN | POLLOUT : POLLIN), revents: 0)
            let milliseconds = min(rest.nanoseconds / 1_000_000 + 1, Int64(CInt.max))
            switch poll(&poller, 1, CInt(milliseconds)) {
            case 1...: return Int32(poller.revents) & ~POLLOUT != 0
            case 0: continue
            default:
                guard errno == EINTR else { throw IOError(errnoCode: errno, reason: "poll") }
            }
        }
    }

    private static func repeated(_ call: () -> CInt) -> CInt {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
