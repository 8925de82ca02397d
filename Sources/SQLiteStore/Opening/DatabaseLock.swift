import Glibc
import Synchronization

/// The right to write to a database, held by one process at a time (P13), as a lock on the file `<database>-lock`.
///
/// The kernel drops the lock when the process ends, however it ends. The file stays: removing it would let two processes
/// hold two files of one name.
public final class DatabaseLock: Sendable {
    /// The database it is for, by the one name that ``SQLiteJobStore`` opens.
    public let databasePath: String
    private let descriptor: Mutex<Int32?>

    private init(databasePath: String, descriptor: Int32) {
        self.databasePath = databasePath
        self.descriptor = Mutex(descriptor)
    }

    /// Takes the lock at once or fails.
    ///
    /// - Throws: ``StoreOpenError/locked(path:pid:)`` when another holds it.
    public static func acquire(forDatabaseAt path: String) throws(StoreOpenError) -> DatabaseLock {
        let location = try DatabaseLocation(path)
        let descriptor = Glibc.open(location.lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o640)
        guard descriptor >= 0 else {
            let code = errno
            if code == EACCES || code == EROFS { throw .readOnlyDirectory(path: location.directory) }
            if code == ENOSPC { throw .diskFull(path: location.directory, freeBytes: 0, neededBytes: 4096) }
            throw .system(operation: "open the lock file", path: location.lockPath, code: code)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = readHolder(descriptor)
            Glibc.close(descriptor)
            if code == EWOULDBLOCK { throw .locked(path: location.path, pid: holder) }
            throw .system(operation: "lock", path: location.lockPath, code: code)
        }
        location.giveToOwner(descriptor)
        // The number is only for people: without it the lock is as good.
        let text = Array("\(getpid())\n".utf8)
        _ = ftruncate(descriptor, 0)
        _ = pwrite(descriptor, text, text.count, 0)
        return DatabaseLock(databasePath: location.path, descriptor: descriptor)
    }

    /// Gives the lock back. The store must be closed before.
    public func release() {
        descriptor.withLock { descriptor in
            if let open = descriptor {
                // Closing alone gives nothing back while a child that is about to start a program has a copy.
                flock(open, LOCK_UN)
                Glibc.close(open)
            }
            descriptor = nil
        }
    }

    var isHeld: Bool { descriptor.withLock { $0 != nil } }

    deinit { release() }

    private static func readHolder(_ descriptor: Int32) -> Int32? {
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
