import CFiles
import Glibc
import Jobs

/// Makes a restart equal to a reboot: the database and its write-ahead log leave the page cache before SQLite opens them.
///
/// After a failed sync Linux marks the pages as written and keeps their contents. A process that starts again would read a
/// log that is not on the disk, believe it, and append to it; a power cut would then lose all that it accepted. Writing
/// the log again is no cure: file systems (ext4) may keep zeros for blocks whose first write failed, until the pages have
/// left the cache. So this writes nothing. It makes sure that every later read comes from the disk:
///
/// - C1: nobody reads or writes the database meanwhile (SQLite's EXCLUSIVE lock), or no sync has failed.
/// - C2: each page was seen absent from the cache, after the last write of ours, or no sync has failed.
/// - C3: what is on the disk has reached it, and the names of the files too.
struct ColdStart {
    let location: DatabaseLocation
    let lock: DatabaseLock
    let database: Int32
    /// How long a reader of the database is waited for.
    let patience: Duration

    private struct File {
        let descriptor: Int32
        let path: String
    }

    /// - Parameter isForced: Also where there is no log, whose absence says that the database was synced last.
    /// - Throws: ``StoreOpenError/stillCached(path:)``, ``StoreOpenError/unsyncedWithReader(path:pid:)`` and errors of the
    ///   disk; starting again later is safe.
    func run(isForced: Bool = false) throws(StoreOpenError) {
        var files = [File(descriptor: database, path: location.path)]
        if let log = try openLog() { files.append(log) }
        // SQLite has no lock on the log, so closing it drops none.
        defer { for log in files.dropFirst() { Glibc.close(log.descriptor) } }
        if files.count == 1, !isForced, !lock.marks.mayCacheDiffer, fdatasync(database) == 0 {
            // A backup that was just restored may not be on the disk yet: that is synced now.
            return try syncDirectory(location.directory)
        }
        guard try lockOut() else { return try startBesideReader(files, isForced: isForced) }
        defer { setLock(F_UNLCK) }
        for file in files where fdatasync(file.descriptor) != 0 { lock.note { $0.noteFailedSync() } }
        for file in files {
            do throws(StoreOpenError) {
                try drop(file)
            } catch {
                // Pages stay where somebody maps them, or where the file system is an overlay on memory. They are as the disk
                // has them where every sync succeeded, and a page that could not be read is not among them.
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
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            switch code {
            case ENOENT: return nil
            case EACCES, EPERM, EROFS: throw .readOnlyFile(path: path)
            default: throw .system(operation: "open", path: path, code: code)
            }
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else {
            Glibc.close(descriptor)
            return nil
        }
        return File(descriptor: descriptor, path: path)
    }

    // MARK: Keeping everybody out

    /// SQLite's lock bytes (PENDING, RESERVED and SHARED; os.h). A lock on all of them keeps every connection out.
    private static let lockBytes = (start: off_t(0x4000_0000), count: off_t(512))

    /// A lock of the open file, not of the process: it conflicts with SQLite's own, also with those of this process.
    @discardableResult
    private func setLock(_ type: Int32) -> Bool {
        var request = Self.request(type)
        return fcntl(database, halyard_set_open_file_lock, &request) == 0
    }

    private static func request(_ type: Int32) -> Glibc.flock {
        Glibc.flock(
            l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: lockBytes.start, l_len: lockBytes.count, l_pid: 0)
    }

    /// - Returns: False when a connection is still open after all the patience.
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
            // As SQLite's own busy handler: the kernel wakes nobody for a lock with a limit of time.
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
        return true
    }

    /// A connection that stays open keeps in shared memory how much of the log was copied into the database, so that
    /// pages whose sync failed would never be copied again.
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
        // Without a disk there is nothing that could differ.
        if halyard_is_in_memory(file.descriptor) != 0 { return }
        var status = stat()
        guard fstat(file.descriptor, &status) == 0 else {
            throw .system(operation: "look at", path: file.path, code: errno)
        }
        // A page that was absent once has been read from the disk since, whoever reads the file beside us (a backup).
        var notSeenAbsent = [0..<(Int(status.st_size) + Self.pageBytes - 1) / Self.pageBytes]
        for attempt in 0..<12 {
            let code = posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
            guard code == 0 else { throw .system(operation: "drop from memory", path: file.path, code: code) }
            notSeenAbsent = try resident(among: notSeenAbsent, of: file)
            if notSeenAbsent.isEmpty { return }
            // The kernel may be about to let them go: 1 ms, doubling, 2 s in all.
            usleep(1000 << min(UInt32(attempt), 8))
        }
        throw .stillCached(path: file.path)
    }

    private static let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// Asks the kernel about 64 Ki pages at a time.
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

    /// A mapping that nothing can read brings no page in.
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
            throw .system(operation: "ask which pages are in memory of", path: file.path, code: errno)
        }
        return residency
    }
}
