import Glibc
import Synchronization

/// The files of an open store. While the store is in use they must keep their names, and no other program may write to
/// the database.
///
/// SQLite keeps writing to files that were removed or replaced, and those writes are lost. A database that another
/// program has overwritten (`cp backup.db halyard.db`) does not fit its log.
final class StoreFiles: Sendable {
    /// The database comes first: without it nothing else matters.
    private let named: [(path: String, identity: FileIdentity)]
    private let database: Int32
    /// A descriptor of the log, in addition to SQLite's own. SQLite has no lock on the log, so closing this descriptor
    /// releases none.
    private let log: Int32
    private let seen = Mutex<Loss?>(nil)
    /// The time and the size of the database file after this process last wrote to it.
    private let written: Mutex<WriteTime>

    enum Loss: Sendable, Equatable {
        /// The file was removed, renamed or replaced.
        case name(path: String)
        /// Another program wrote to the database.
        case overwritten
    }

    private struct WriteTime: Equatable {
        let seconds: Int
        let nanoseconds: Int
        let size: Int64

        init(_ status: stat) {
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
            size = Int64(status.st_size)
        }
    }

    /// - Parameter database: Must stay open as long as this object exists.
    init(_ location: DatabaseLocation, database: HeldDatabase) throws(StoreOpenError) {
        var named = [(path: location.path, identity: database.identity)]
        for path in [location.path + "-wal", location.path + "-shm", location.lockPath] {
            guard let identity = FileIdentity(at: path) else {
                throw .system(operation: "inspect", path: path, code: errno)
            }
            named.append((path, identity))
        }
        written = Mutex(WriteTime(try status(of: database.descriptor, location.path)))
        self.named = named
        self.database = database.descriptor
        log = Glibc.open(named[1].path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)
        if log < 0 { throw .system(operation: "open", path: named[1].path, code: errno) }
    }

    deinit { Glibc.close(log) }

    var databaseIdentity: FileIdentity { named[0].identity }
    var databasePath: String { named[0].path }
    var logPath: String { named[1].path }
    var paths: [String] { named.map(\.path) }

    /// The loss that was found; nil if no file is known to be lost.
    var lost: Loss? { seen.withLock(\.self) }

    /// Checks that each path still names its file. A loss that was found once is remembered.
    @discardableResult
    func look() -> Loss? {
        seen.withLock { seen in
            if seen == nil {
                seen = named.first { FileIdentity(at: $0.path) != $0.identity }.map { .name(path: $0.path) }
            }
            return seen
        }
    }

    /// Checks the files after a commit, in two cheap system calls. Tests only whether the database and its log still
    /// have any name: a file that was moved away still keeps the data written to it.
    ///
    /// Call this only on the thread that checkpoints, so that it never sees a half-finished checkpoint.
    func lostAtCommit() -> Loss? {
        if let lost { return lost }
        var status = stat()
        if fstat(database, &status) == 0 {
            if status.st_nlink == 0 { return look() }
            if WriteTime(status) != written.withLock(\.self) {
                seen.withLock { $0 = .overwritten }
                return .overwritten
            }
        }
        return hasName(log) ? nil : look()
    }

    /// Records the database's new time and size. Call this after each checkpoint, even one that failed.
    func noteCheckpoint() {
        var status = stat()
        if fstat(database, &status) == 0 { written.withLock { $0 = WriteTime(status) } }
    }

    private func hasName(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) != 0 || status.st_nlink > 0
    }
}
