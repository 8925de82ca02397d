import Glibc
import Synchronization

/// Detects lost files without polling (P10): a thread sleeps until the kernel reports a change to the names of the
/// store's files, then checks whether a file is lost.
final class FileWatch: Sendable {
    private let descriptor: Int32
    private let directory: Int32
    private let isStopping = Atomic(false)
    /// Whether the thread has ended and closed the descriptor. After that, its number may be reused for another file.
    private let isOver = Mutex(false)
    var hasEnded: Bool { isOver.withLock(\.self) }

    /// Starts the watch.
    ///
    /// - Parameter onChange: Called when a file is lost, and when anything else happens to the files, since another
    ///   program may have written to the database. Called on the watch's thread, or by this initializer if a file is
    ///   already lost.
    /// - Returns: Nil if the kernel's limit on watches is reached, or if no thread can be started.
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
        // Detects changes between the opening of the files and the start of the watch.
        if files.look() != nil { onChange() }
    }

    /// Ends the watch's thread, without waiting for it.
    func stop() {
        if isStopping.exchange(true, ordering: .acquiringAndReleasing) { return }
        // The kernel reports the removed watch, which wakes the thread.
        isOver.withLock { isOver in
            if !isOver { inotify_rm_watch(descriptor, directory) }
        }
    }

    private func run(_ files: StoreFiles, _ names: Set<String>, _ onChange: () -> Void) {
        let size = 64 << 10
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
        defer {
            buffer.deallocate()
            isOver.withLock { isOver in
                Glibc.close(descriptor)
                isOver = true
            }
        }
        var isLost = files.lost != nil
        while true {
            let count = read(descriptor, buffer, size)
            if count < 0, errno == EINTR { continue }
            if count <= 0 || isStopping.load(ordering: .acquiring) { return }
            let events = UnsafeRawBufferPointer(start: buffer, count: count)
            // Events about other files in the directory are ignored.
            if !isLost, concerns(events, names) {
                isLost = files.look() != nil
                onChange()
            }
            // The directory was removed or unmounted, which also removed its watch. Nothing would wake the thread any
            // more.
            if hasLostDirectory(events) { return }
        }
    }

    private func concerns(_ events: UnsafeRawBufferPointer, _ names: Set<String>) -> Bool {
        contains(events) { (_, name) in
            let name = String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            // An event without a name concerns the directory or the database itself, or is a queue overflow.
            return name.isEmpty || names.contains(name)
        }
    }

    private func hasLostDirectory(_ events: UnsafeRawBufferPointer) -> Bool {
        contains(events) { (event, _) in event.wd == directory && event.mask & UInt32(IN_IGNORED) != 0 }
    }

    private func contains(
        _ events: UnsafeRawBufferPointer, where isMatch: (inotify_event, Slice<UnsafeRawBufferPointer>) -> Bool
    ) -> Bool {
        var at = 0
        while at < events.count {
            let event = events.loadUnaligned(fromByteOffset: at, as: inotify_event.self)
            let start = at + MemoryLayout<inotify_event>.size
            at = start + Int(event.len)
            if isMatch(event, events[start..<at]) { return true }
        }
        return false
    }
}
