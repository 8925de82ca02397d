import CFiles
import Glibc
import Jobs

/// Makes a restart equivalent to a reboot: drops the database and its write-ahead log from the page cache before SQLite
/// opens them.
///
/// After a failed sync Linux marks the pages as written and keeps their contents in memory. A restarted process would
/// read and trust a log that is not on the disk, and append to it; a power cut would then lose everything that the
/// process accepted. Writing the log again does not help: file systems (ext4) may keep zeros for blocks whose first
/// write failed, until the pages have left the cache. So a cold start writes nothing. It ensures that every later read
/// comes from the disk:
///
/// - C1: no other connection reads or writes the database during the cold start (SQLite's EXCLUSIVE lock), or no sync
///   has failed.
/// - C2: each page was seen absent from the cache after this program's last write, or no sync has failed.
/// - C3: the files and their directory are synced.
struct ColdStart {
    let location: DatabaseLocation
    let lock: DatabaseLock
    let database: Int32
    /// How long to wait for other connections to the database.
    let patience: Duration

    private struct File {
        let descriptor: Int32
        let path: String
    }

    /// - Parameter isForced: Whether to drop the pages even without a log. The absence of a log normally shows that the
    ///   last close synced the database.
    /// - Throws: ``StoreOpenError/stillCached(path:)``, ``StoreOpenError/unsyncedWithReader(path:pid:)``, or an error
    ///   of the disk. Starting again later is safe.
    func run(isForced: Bool = false) throws(StoreOpenError) {
        var files = [File(descriptor: database, path: location.path)]
        if let log = try openLog() { files.append(log) }
        // SQLite has no lock on the log, so closing this descriptor releases none.
        defer { for log in files.dropFirst() { Glibc.close(log.descriptor) } }
        if files.count == 1, !isForced, !lock.marks.mayCacheDiffer, fdatasync(database) == 0 {
            // A backup that was just restored may not be on the disk yet, hence the sync above.
            return try syncDirectory(location.directory)
        }
        guard try lockOut() else { return try startBesideReader(files, isForced: isForced) }
        defer { setLock(F_UNLCK) }
        for file in files where fdatasync(file.descriptor) != 0 { lock.note { $0.noteFailedSync() } }
        for file in files {
            do throws(StoreOpenError) {
                try drop(file)
            } catch {
                // Pages stay in memory if a process maps them, or if the file system is an overlay on memory. If every
                // sync succeeded, they equal the disk's contents. A page whose read failed is not among them.
                guard case .stillCached = error, !lock.marks.mayCacheDiffer else { throw error }
            }
        }
        for file in files where fdatasync(file.descriptor) != 0 {
            throw .system(operation: "sync", path: file.path, code: errno)
        }
        try syncDirectory(location.directory)
        lock.note { $0.failedSyncBoot = nil }
    }

    private func openLog() throws(StoreOpenError) -> File? {
        let path = location.path + "-wal"
        do throws(StoreOpenError) {
            let log = File(descriptor: try openFile(path, O_RDWR | O_NOFOLLOW), path: path)
            if try status(of: log.descriptor, path).st_size > 0 { return log }
            Glibc.close(log.descriptor)
        } catch {
            guard case .missingFile = error else { throw error }
        }
        return nil
    }

    // MARK: Locking out other connections

    /// SQLite's lock bytes (PENDING, RESERVED and SHARED; os.h). A lock on all of them keeps every connection out.
    private static let lockBytes = (start: off_t(0x4000_0000), count: off_t(512))

    /// Sets a lock that belongs to the open file, not to the process. It conflicts with all of SQLite's locks, even
    /// those of this process.
    @discardableResult
    private func setLock(_ type: Int32) -> Bool {
        var request = Self.request(type)
        return fcntl(database, halyard_set_open_file_lock, &request) == 0
    }

    private static func request(_ type: Int32) -> Glibc.flock {
        Glibc.flock(
            l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: lockBytes.start, l_len: lockBytes.count, l_pid: 0)
    }

    /// - Returns: False when a connection is still open after ``patience``.
    private func lockOut() throws(StoreOpenError) -> Bool {
        let giveUpAt = ContinuousClock.now + patience
        var pause: UInt32 = 500
        while !setLock(F_WRLCK) {
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN, EACCES: break
            default: throw .system(operation: "lock", path: location.path, code: code)
            }
            if ContinuousClock.now >= giveUpAt { return false }
            // Polls as SQLite's busy handler does, since the kernel offers no wait for a lock with a timeout.
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
        return true
    }

    /// Starts although another connection is open, unless a sync has failed. An open connection keeps in shared memory
    /// how much of the log was copied into the database, so pages whose sync failed would never be copied again.
    private func startBesideReader(_ files: [File], isForced: Bool) throws(StoreOpenError) {
        for file in files where fdatasync(file.descriptor) != 0 { lock.note { $0.noteFailedSync() } }
        guard !isForced, !lock.marks.mayCacheDiffer else {
            throw .unsyncedWithReader(path: location.path, pid: reader())
        }
        try syncDirectory(location.directory)
    }

    private func reader() -> Int32? {
        var request = Self.request(F_WRLCK)
        guard fcntl(database, halyard_get_open_file_lock, &request) == 0, request.l_type != F_UNLCK else { return nil }
        return request.l_pid > 0 ? request.l_pid : nil
    }

    // MARK: Dropping pages

    private func drop(_ file: File) throws(StoreOpenError) {
        // A file that exists only in memory cannot differ from a disk.
        if halyard_is_in_memory(file.descriptor) != 0 { return }
        let status = try status(of: file.descriptor, file.path)
        // Once a page was absent, any later copy of it was read from the disk, even if another process (such as a
        // backup) reads the file in the meantime.
        var notSeenAbsent = [0..<(Int(status.st_size) + Self.pageBytes - 1) / Self.pageBytes]
        for attempt in 0..<12 {
            let code = posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
            guard code == 0 else { throw .system(operation: "drop from memory", path: file.path, code: code) }
            notSeenAbsent = try resident(among: notSeenAbsent, of: file)
            if notSeenAbsent.isEmpty { return }
            // The kernel may not have released all pages yet. Waits 1 ms, then twice as long each time up to 256 ms:
            // 1.3 s in all.
            usleep(1000 << min(UInt32(attempt), 8))
        }
        throw .stillCached(path: file.path)
    }

    private static let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// Returns the pages that are in memory. Queries 64 Ki pages per system call.
    private func resident(among pages: [Range<Int>], of file: File) throws(StoreOpenError) -> [Range<Int>] {
        var found: [Range<Int>] = []
        for range in pages {
            for start in stride(from: range.lowerBound, to: range.upperBound, by: 1 << 16) {
                let window = start..<min(start + 1 << 16, range.upperBound)
                for page in try residency(of: window, file).enumerated() where page.element & 1 != 0 {
                    let number = window.lowerBound + page.offset
                    if let last = found.last, last.upperBound == number {
                        found[found.count - 1] = last.lowerBound..<number + 1
                    } else {
                        found.append(number..<number + 1)
                    }
                }
            }
        }
        return found
    }

    /// Returns for each page whether it is in memory (bit 0). Maps the file without access, so that the query itself
    /// loads no page.
    private func residency(of pages: Range<Int>, _ file: File) throws(StoreOpenError) -> [UInt8] {
        let bytes = pages.count * Self.pageBytes
        let mapping = mmap(
            nil, bytes, PROT_NONE, MAP_SHARED, file.descriptor, off_t(pages.lowerBound * Self.pageBytes))
        guard let mapping, mapping != MAP_FAILED else {
            throw .system(operation: "map", path: file.path, code: errno)
        }
        defer { munmap(mapping, bytes) }
        var residency = [UInt8](repeating: 0, count: pages.count)
        guard mincore(mapping, bytes, &residency) == 0 else {
            throw .system(operation: "query the cached pages of", path: file.path, code: errno)
        }
        return residency
    }
}
