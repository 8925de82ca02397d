import Glibc
import Synchronization

/// The files of an open store: what must keep its name for as long as the store is in use.
///
/// SQLite works on in files that were removed or replaced, and what it writes there is lost.
final class StoreFiles: Sendable {
    /// The database comes first: without it nothing else matters.
    private let named: [(path: String, identity: FileIdentity)]
    private let database: Int32
    /// A descriptor beside SQLite's. SQLite has no lock on the log, so closing this one drops none.
    private let log: Int32
    private let seen = Mutex<String?>(nil)

    /// - Parameter database: Stays open for longer than this value.
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

    /// The file that no longer has its name, as the last ``look()`` saw it.
    var lost: String? { seen.withLock(\.self) }

    /// Compares each name with its file, and remembers what it finds.
    @discardableResult
    func look() -> String? {
        seen.withLock { seen in
            if seen == nil { seen = named.first { FileIdentity(at: $0.path) != $0.identity }?.path }
            return seen
        }
    }

    /// The same for each commit: only whether the database and its log still have a name at all, which costs two short
    /// system calls. A file that was moved away keeps what is written to it.
    func lostAtCommit() -> String? {
        if let lost { return lost }
        return hasName(database) && hasName(log) ? nil : look()
    }

    private func hasName(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) != 0 || status.st_nlink > 0
    }
}
