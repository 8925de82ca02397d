import Foundation
import Glibc
import Synchronization

/// A proxy in front of the server that drops the answer to a commit: the server carries it out, and then the connection
/// breaks.
final class AnswerDroppingProxy: Sendable {
    /// The URL of the database behind the proxy.
    let url: String
    private let folder: String
    private let target: String
    private let listener: Int32
    private let isArmed = Atomic(false)

    /// - Parameter url: The URL of a database whose server has a Unix socket.
    init(to url: String) throws {
        let parts = url.components(separatedBy: "host=")
        guard parts.count == 2, let server = parts[1].removingPercentEncoding else { throw NoServer() }
        folder = FileManager.default.temporaryDirectory.path + "/hp-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        self.url = parts[0] + "host=" + folder
        target = server + "/.s.PGSQL.5432"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard withAddress(folder + "/.s.PGSQL.5432", { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw NoServer()
        }
        Thread.detachNewThread { [listener, target, isArmed = Armed(self)] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Self.serve(client, target, isArmed)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        // A folder that stays behind harms nobody.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Drops the answer to the next commit, of whichever connection.
    func dropNextCommitsAnswer() { isArmed.store(true, ordering: .sequentiallyConsistent) }

    /// The proxy, without keeping it alive.
    private struct Armed: Sendable {
        private nonisolated(unsafe) weak var proxy: AnswerDroppingProxy?

        // SAFETY: a weak reference may be read by any thread, and is never written again.
        init(_ proxy: AnswerDroppingProxy) { self.proxy = proxy }

        func take() -> Bool { proxy?.isArmed.exchange(false, ordering: .sequentiallyConsistent) ?? false }
    }

    /// The message that a `COMMIT` is complete.
    private static let committed = Array("C\0\0\0\u{b}COMMIT\0".utf8)

    private static func serve(_ client: Int32, _ target: String, _ armed: Armed) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard withAddress(target, { connect(server, $0, $1) }) == 0 else {
            close(client)
            close(server)
            return
        }
        let link = Link(client: client, server: server)
        Thread.detachNewThread {
            while let bytes = receive(client), send(bytes, to: server) {}
            link.end()
        }
        Thread.detachNewThread {
            while let bytes = receive(server) {
                // The server has answered, so the commit is stored.
                if bytes.contains(committed), armed.take() { break }
                if !send(bytes, to: client) { break }
            }
            link.end()
        }
    }

    /// The two connections, which end together and are closed by whoever ends last.
    private final class Link: Sendable {
        private let client: Int32
        private let server: Int32
        private let ends = Mutex(0)

        init(client: Int32, server: Int32) {
            self.client = client
            self.server = server
        }

        func end() {
            let isLast = ends.withLock { ends in
                ends += 1
                return ends == 2
            }
            for file in [client, server] {
                shutdown(file, Int32(SHUT_RDWR))
                if isLast { close(file) }
            }
        }
    }
}

private func receive(_ file: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = read(file, &buffer, buffer.count)
    return count > 0 ? Array(buffer[..<count]) : nil
}

private func send(_ bytes: [UInt8], to file: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count <= 0 { return false }
        rest = rest.dropFirst(count)
    }
    return true
}

private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: name.sun_path) else { return -1 }
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
