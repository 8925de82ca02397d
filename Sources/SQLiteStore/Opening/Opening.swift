import Glibc
import Jobs
import SQLite

/// Opens the database for the process that holds its lock. Creates the database if it does not exist.
struct Opening {
    let location: DatabaseLocation
    let lock: DatabaseLock
    let options: StoreOptions
    let clock: any StoreClock

    init(
        _ lock: DatabaseLock, _ options: StoreOptions, _ clock: any StoreClock = SystemStoreClock()
    ) throws(StoreOpenError) {
        precondition(lock.isHeld, "the lock was released")
        location = try DatabaseLocation(lock.databasePath)
        self.lock = lock
        self.options = options
        self.clock = clock
    }

    /// Opens the connection that writes, then runs `body`, which may open more connections.
    ///
    /// Damage is believed only when it is seen twice, the second time on the disk itself. A read that fails temporarily
    /// can look like damage, and so can a cached page that never reached the disk.
    ///
    /// - Parameter body: May run twice. It must close everything that it opened before it throws.
    func open<Opened>(
        _ body: (Connection) throws(StoreOpenError) -> Opened
    ) throws(StoreOpenError) -> Opened {
        let size = try location.findOrCreate(options, lock)
        let held = try lock.holdDatabase(location)
        let cold = ColdStart(
            location: location, lock: lock, database: held.descriptor, patience: options.readerPatience)
        try cold.run()
        let opened: Opened
        do throws(StoreOpenError) {
            opened = try attempt(size, body)
        } catch {
            guard error.mayBeMisread else { throw error }
            try cold.run(isForced: true)
            opened = try attempt(size, body)
        }
        lock.note { $0.suspectsDamage = false }
        return opened
    }

    /// Opens only the connection that writes.
    func writer() throws(StoreOpenError) -> Writer {
        try open { (connection) throws(StoreOpenError) in try writer(on: connection) }
    }

    func writer(on connection: Connection) throws(StoreOpenError) -> Writer {
        try mappingErrors(at: location.path) { () throws(SQLiteError) in
            try Writer(connection, lock: lock, clock: clock)
        }
    }

    /// The files of the database. Call this after the connection is open.
    func files() throws(StoreOpenError) -> StoreFiles {
        guard let held = lock.heldDatabase else { preconditionFailure("the database must be held before it is opened") }
        return try StoreFiles(location, database: held)
    }

    private func attempt<Opened>(
        _ size: Int64, _ body: (Connection) throws(StoreOpenError) -> Opened
    ) throws(StoreOpenError) -> Opened {
        do throws(StoreOpenError) {
            let connection = try location.connectForWriting(options, size: size, isSuspect: lock.marks.suspectsDamage)
            return try body(connection)
        } catch {
            if error.mayBeFailedSync { lock.note { $0.noteFailedSync() } }
            throw error
        }
    }
}

/// Runs `body` and converts its SQLite error to a ``StoreOpenError``.
func mappingErrors<Value>(
    at path: String, _ body: () throws(SQLiteError) -> Value
) throws(StoreOpenError) -> Value {
    do throws(SQLiteError) {
        return try body()
    } catch {
        throw StoreOpenError(error, path: path)
    }
}

extension StoreOpenError {
    /// Whether the error may be caused by a failed read instead of damage.
    var mayBeMisread: Bool {
        switch self {
        case .damaged, .notADatabase, .settingRefused: true
        default: false
        }
    }

    /// Whether the error may be a failed sync. Includes failed writes, since SQLite syncs in many places.
    fileprivate var mayBeFailedSync: Bool {
        guard case .sqlite(_, let code, _) = self else { return false }
        let error = SQLiteError(code: code, message: "")
        return error.primary == .inputOutput && !error.isFailedRead
    }
}
