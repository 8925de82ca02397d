import Glibc
import Synchronization

/// Sleeps until the kernel reports a change to the names of a store's files, then checks whether a file is lost (P10).
final class FileWatch: Sendable {
    private let descriptor: Int32
    private let directory: Int32
    private let isStopping = Atomic(false)

    /// - Parameter onChange: Called on the watch's own thread when a file is lost, and whenever something else happens to the
    ///   files: another program may have written to the database.
    /// - Returns: Nil when the kernel's limit on watches is reached, or no thread could be started.
    init?(_ files: StoreFiles, in location: DatabaseLocation, onChange: @escaping @Sendable () -> Void) {
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        if descriptor < 0 { return nil }
        directory = inotify_add_watch(
            descriptor, location.directory,
            UInt32(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF))
        // Also reports changes to hard links elsewhere, and to the database when its directory is mounted over.
        let database = inotify_add_watch(
            descriptor, location.path, UInt32(IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_CLOSE_WRITE))
        let names = Set(files.paths.map { $0.split(separator: "/").last.map(String.init) ?? "" })
        guard directory >= 0, database >= 0 else {
            Glibc.close(descriptor)
            return nil
        }
        do throws(StoreOpenError) {
            try startThread(named: "halyard-files") { [self] in run(files, names, onChange) }
        } catch {
            Glibc.close(descriptor)
            return nil
        }
        // Catches changes between the opening of the files and the start of the watch.
        if files.look() != nil { onChange() }
    }

    /// Ends the thread.
    func stop() {
        if isStopping.exchange(true, ordering: .acquiringAndReleasing) { return }
        // The kernel reports the removed watch, which wakes the thread.
        inotify_rm_watch(descriptor, directory)
    }

    private func run(_ files: StoreFiles, _ names: Set<String>, _ onChange: () -> Void) {
        let size = 64 << 10
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
        defer {
            buffer.deallocate()
            Glibc.close(descriptor)
        }
        var isLost = files.lost != nil
        while true {
            let count = read(descriptor, buffer, size)
            if count < 0, errno == EINTR { continue }
            if count <= 0 || isStopping.load(ordering: .acquiring) { return }
            // Other files in the directory change, too.
            if !isLost, concerns(UnsafeRawBufferPointer(start: buffer, count: count), names) {
                isLost = files.look() != nil
                onChange()
            }
        }
    }

    private func concerns(_ events: UnsafeRawBufferPointer, _ names: Set<String>) -> Bool {
        var at = 0
        while at < events.count {
            let event = events.loadUnaligned(fromByteOffset: at, as: inotify_event.self)
            let start = at + MemoryLayout<inotify_event>.size
            at = start + Int(event.len)
            let name = String(decoding: events[start..<at].prefix { $0 != 0 }, as: UTF8.self)
            // An event without a name concerns the directory or the database itself, or is a queue overflow.
            if name.isEmpty || names.contains(name) { return true }
        }
        return false
    }
}
