import Glibc
import Jobs
import SQLiteStore

/// The way to an SQLite file.
public struct FileOpening: StoreOpening {
    private let path: String
    private let options: StoreOptions

    init(path: String, for use: StoreFactory.Use) {
        self.init(path: path, options: use == .brief ? .brief : StoreOptions())
    }

    /// Creates the way to a file; opens nothing.
    public init(path: String, options: StoreOptions) {
        self.path = path
        self.options = options
    }

    public var address: DatabaseAddress { .file(path: path) }

    // A file that this user may not see is not new.
    public var isNew: Bool { access(path, F_OK) != 0 && errno != EACCES }

    public func check() throws(StoreOpenFailure) -> String? {
        try mapping { () throws(StoreOpenError) in try SQLiteJobStore.check(databaseAt: path)?.description }
    }

    public func reserve(
        as role: StoreUser.Role, waiting patience: Duration, onWait: @escaping @Sendable (StoreUser) -> Void
    ) async throws(StoreOpenFailure) -> any ReservedStore {
        do throws(StoreOpenError) {
            let lock = try await DatabaseLock.acquire(
                forDatabaseAt: path, as: LockHolder.Role(role), waiting: patience
            ) { onWait(StoreUser($0)) }
            return ReservedFile(lock: lock, options: options)
        } catch {
            throw StoreOpenFailure(error)
        }
    }

    public func openForReading() async throws(StoreOpenFailure) -> OpenedStore {
        try mapping { () throws(StoreOpenError) in
            OpenedStore(try SQLiteJobStore.openReadOnly(at: path, options: options))
        }
    }

    public var user: StoreUser? {
        // A user who may read the database but not its lock gets less information.
        (try? DatabaseLock.holder(ofDatabaseAt: path)).flatMap(\.self).map(StoreUser.init)
    }
}

private struct ReservedFile: ReservedStore {
    let lock: DatabaseLock
    let options: StoreOptions

    var lastEnd: LastEnd { lock.lastEnd }

    func marksCrashes() { lock.marksCrashes() }

    func narrowModes() throws(StoreOpenFailure) -> [String] {
        do throws(StoreOpenError) {
            try SQLiteJobStore.checkHeader(ofDatabaseAt: lock.databasePath)
            return DatabaseModes.narrow(lock.databasePath)
        } catch {
            // The file of another program keeps its mode, and no file is created next to it.
            if error.isOfAnotherProgram { throw StoreOpenFailure(error) }
            // Opening the database creates it, or reports the problem in more detail.
            return []
        }
    }

    func open() async throws(StoreOpenFailure) -> OpenedStore {
        let maxLogBytes = 8 * options.walBytes
        let store = try mapping { () throws(StoreOpenError) in try SQLiteJobStore.open(lock, options: options) }
        var warnings: [String] = []
        if options.watchesFiles, !store.isWatchingFiles {
            warnings.append(
                "cannot watch the database's files, because the limit on inotify instances is reached; a removed database is noticed only at the next write. Raise fs.inotify.max_user_instances"
            )
        }
        return OpenedStore(store, warnings: warnings) {
            let log = store.logBytes
            if maxLogBytes == 0 || log <= maxLogBytes { return [] }
            return [
                "the write-ahead log has \(log >> 20) MiB because of a long read; end that read (an open sqlite3 shell?)"
            ]
        }
    }

    func release() { lock.release() }
}

extension OpenedStore {
    fileprivate init(
        _ store: SQLiteJobStore, warnings: [String] = [], problems: @escaping @Sendable () -> [String] = { [] }
    ) {
        self.init(
            store: store, name: store.path, home: store.path, warnings: warnings, problems: problems,
            releaseMemory: { await store.releaseMemory() }, close: { await store.close() })
    }
}

extension StoreUser {
    fileprivate init(_ holder: LockHolder) {
        self.init(
            pid: holder.pid, role: holder.role.flatMap { Role(rawValue: $0.rawValue) },
            isLivingDaemon: holder.isLivingDaemon)
    }
}

extension LockHolder.Role {
    fileprivate init(_ role: StoreUser.Role) {
        self =
            switch role {
            case .daemon: .daemon
            case .once: .once
            case .command: .command
            }
    }
}

private func mapping<Value>(_ body: () throws(StoreOpenError) -> Value) throws(StoreOpenFailure) -> Value {
    do throws(StoreOpenError) {
        return try body()
    } catch {
        throw StoreOpenFailure(error)
    }
}

extension StoreOpenFailure {
    /// The failure of a start whose database would be in a folder that does not exist.
    public static func missingDirectory(_ path: String) -> StoreOpenFailure {
        StoreOpenFailure(StoreOpenError.missingDirectory(path: path))
    }

    init(_ error: StoreOpenError) {
        let cause: Cause =
            switch error {
            case .locked(_, let pid): .reserved(pid: pid)
            case .lockedUnderAnotherName, .stillCached, .unsyncedWithReader: .passing(errno: EBUSY)
            case .busy: .busy
            case .diskFull, .noRoomToMigrate: .passing(errno: ENOSPC)
            case .system(_, _, let code): .inputOutput(errno: code)
            case .sqlite: .inputOutput(errno: EIO)
            case .missingFile, .missingDirectory: .missing
            case .unreadableFile: .unreadable
            case .readOnlyFile, .readOnlyDirectory: .readOnly
            case .moved, .unfinishedMove: .moved
            case .foreignDatabase, .notADatabase, .notARegularFile, .emptyFile: .otherProgram
            default: .wrong
            }
        self.init(cause, error.description)
    }
}
