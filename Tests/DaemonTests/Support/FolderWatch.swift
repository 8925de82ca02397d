import CLinux
import Foundation
import Glibc
import Programs

/// Reports when names in a folder appear and disappear.
final class FolderWatch: Sendable {
    private let path: String
    private let changes = Lines()
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        let events = UInt32(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
        guard descriptor >= 0, inotify_add_watch(descriptor, path, events) >= 0 else {
            throw TemporaryFolder.Failure(call: "inotify", code: errno)
        }
        Thread.detachNewThread { [descriptor, changes] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { break }
                changes.append("changed")
            }
            changes.close()
        }
    }

    /// Waits on a thread that ends with the process, since closing the descriptor does not wake it.
    func waitUntilEmpty() async throws {
        var seen = changes.all.count
        while try !FileManager.default.contentsOfDirectory(atPath: path).isEmpty {
            guard let change = await changes.first(from: seen, where: { _ in true }) else { return }
            seen = change.index + 1
        }
    }
}
