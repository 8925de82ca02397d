import Foundation

/// A client socket that sends arbitrary bytes, valid or not.
final class RawPeer: Sendable {
    private let descriptor: CInt

    init(_ path: String) throws {
        let (descriptor, code) = Self.connect(to: path, kind: CInt(SOCK_STREAM.rawValue))
        self.descriptor = descriptor
        guard code == 0 else { throw TestFailure("connect: \(code)") }
    }

    /// Opens many connections and sends `text` on each. `connect` blocks while the listener's queue is full, so this
    /// runs on another thread.
    static func connect(_ count: Int, to path: String, sending text: String) async throws -> [RawPeer] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try (0..<count).map { _ in
                            let peer = try RawPeer(path)
                            try? peer.send(text)  // The server may have closed the connection already.
                            return peer
                        }
                    })
            }
        }
    }

    /// Returns when nothing listens at the path any more. It never blocks: the queue of a listener that no longer
    /// accepts may be full.
    static func waitUntilNobodyListens(_ path: String) async {
        while true {
            let (descriptor, code) = connect(to: path, kind: CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue))
            close(descriptor)
            if code == ECONNREFUSED || code == ENOENT { return }
            await Task.yield()
        }
    }

    private static func connect(to path: String, kind: CInt) -> (descriptor: CInt, code: CInt) {
        let descriptor = socket(AF_UNIX, kind, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return (descriptor, result == 0 ? 0 : errno)
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        let count = Foundation.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
        guard count == bytes.count else { throw TestFailure("send: \(errno)") }
    }

    /// Sends more than the socket's buffer holds, so it returns only after the server has read most of it.
    func sendLong(_ text: String) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try self.send(text) }) }
        }
    }

    /// Closes both directions, as the end of a process does.
    func hangUp() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    func halfClose() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// Reads until the received text ends with `text`.
    func read(until text: String) async throws -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [descriptor] in
                var read = ""
                var buffer = [UInt8](repeating: 0, count: 1)
                while !read.hasSuffix(text), recv(descriptor, &buffer, 1, 0) == 1 {
                    read.unicodeScalars.append(Unicode.Scalar(buffer[0]))
                }
                continuation.resume(returning: read)
            }
        }
    }

    /// Returns once the server has closed the connection, even if there are unread bytes.
    func waitForHangUp() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            Thread.detachNewThread { [descriptor] in
                var state = pollfd(fd: descriptor, events: 0, revents: 0)
                while state.revents & Int16(POLLHUP) == 0, poll(&state, 1, -1) >= 0 {}
                continuation.resume()
            }
        }
    }

    /// Reads until the server closes the connection.
    func readToEnd() async throws -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [descriptor] in
                var bytes: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65536)
                while true {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    if count <= 0 { break }
                    bytes += buffer[..<count]
                }
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }
        }
    }
}
