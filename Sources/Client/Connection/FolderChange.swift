import Dispatch
import Glibc

/// Watches a folder for changes from the moment this value is created.
///
/// SAFETY: Any thread may cancel a dispatch source.
final class FolderChange: @unchecked Sendable {
    private let changes: AsyncStream<Void>
    private let source: any DispatchSourceRead

    /// Starts watching.
    ///
    /// - Parameter path: The path of a file in the folder. If the folder is missing, the nearest existing
    ///   folder above it is watched, since the missing one will appear there.
    /// - Returns: Nil if the kernel reports no changes, for example because this user may not read the folder.
    init?(near path: String) {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        let events = UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
        var folder = Self.folder(of: path)
        while inotify_add_watch(descriptor, folder, events) < 0 {
            guard errno == ENOENT, folder != "/", folder != "." else {
                close(descriptor)
                return nil
            }
            folder = Self.folder(of: folder)
        }
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
        source.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 4096)
            // Discard the events, since the receiver checks the folder itself.
            while read(descriptor, &buffer, buffer.count) > 0 {}
            continuation.yield()
        }
        source.setCancelHandler {
            close(descriptor)
            continuation.finish()
        }
        self.changes = changes
        source.resume()
    }

    deinit { source.cancel() }

    /// Returns when something has changed, or when the task is cancelled.
    func wait() async {
        for await _ in changes { return }
    }

    private static func folder(of path: String) -> String {
        guard let end = path.lastIndex(of: "/") else { return "." }
        return end == path.startIndex ? "/" : String(path[..<end])
    }
}
