import Foundation
import Glibc
import Programs

/// The service manager's side of the notification socket: every line that a service sends.
final class NotificationListener: Sendable {
    /// For `NOTIFY_SOCKET`.
    let address: String
    let heard = Lines()
    private let descriptor: Int32
    private let silences = Lines()

    init(in folder: TemporaryFolder) throws {
        address = folder.path + "/notify"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(address.utf8)) }
        let bound = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw TemporaryFolder.Failure(call: "bind", code: errno) }
        // As a manager's watchdog: it notices when nothing comes for a while.
        var patience = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        Thread.detachNewThread { [descriptor, heard, silences] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count < 0 && errno == EINTR { continue }
                if count < 0 && errno == EAGAIN {
                    silences.append("\(heard.all.count)")
                    continue
                }
                if count <= 0 { break }
                for line in String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n") {
                    heard.append(String(line))
                }
            }
            close(descriptor)
            heard.close()
            silences.close()
        }
    }

    /// Waits for a second in which nothing comes, and tells how many lines there were before it.
    func silence() async -> Int? {
        let from = silences.all.count
        return await silences.first(from: from) { _ in true }.flatMap { Int($0.line) }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
