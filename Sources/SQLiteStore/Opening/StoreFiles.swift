import Glibc
import Synchronization

/// The files of an open store, which must keep their names while the store is in use.
///
/// SQLite keeps writing to files that were removed or replaced, and those writes are lost.
final class StoreFiles: Sendable {
    /// The database comes first: without it nothing else matters.
    private let named: [(path: String, identity: FileIdentity)]
    private let database: Int32
    /// A descriptor in addition to SQLite's. SQLite has no lock on the log, so closing this descriptor drops none.
    private let log: Int32
    private let seen = Mutex<String?>(nil)

    /// - Parameter database: Must stay open longer than this value exists.
    init(_ location: DatabaseLocation, database: HeldDatabase) throws(StoreOpenError) {
        var named = [(path: location.path, identity: database.identity)]
        for path in [location.path + "-wal", location.path + "-shm", location.lockPath] {
            guard let identity = FileIdentity(at: path) else {
                throw .system(operation: "look at", path: path, code: errno)
            }
            named.append((path, identity))
        }
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

    /// The file that no longer has its name, as of the last ``look()``.
    var lost: String? { seen.withLock(\.self) }

    /// Compares each name with its file, and remembers what it finds.
    @discardableResult
    func look() -> String? {
        seen.withLock { seen in
            if seen == nil { seen = named.first { FileIdentity(at: $0.path) != $0.identity }?.path }
            return seen
        }
    }

    /// The check after each commit. It only tests whether the database and its log still have any name, which costs two
    /// short system calls: a file that was moved away keeps what is written to it.
    func lostAtCommit() -> String? {
        if let lost { return lost }
        return hasName(database) && hasName(log) ? nil : look()
    }

    private func hasName(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) != 0 || status.st_nlink > 0
    }
}
