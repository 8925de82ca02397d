import Glibc
import Jobs
import SQLite

extension DatabaseLocation {
    /// Checks the database file, or creates the database if there is no file.
    ///
    /// - Returns: The size of the file in bytes; 0 for a new database.
    func findOrCreate(_ options: StoreOptions, _ lock: DatabaseLock) throws(StoreOpenError) -> Int64 {
        try checkDirectory()
        try checkFreeSpace(atLeast: options.minimumFreeBytes)
        if let size = try fileSize() {
            if size == 0 { throw .emptyFile(path: path) }
            if access(path, R_OK) != 0 { throw .unreadableFile(path: path) }
            if access(path, W_OK) != 0 { throw .readOnlyFile(path: path) }
            if let lost = lock.marks.lostDatabase {
                // SQLite would apply the log of the lost database to this one.
                if FileIdentity(at: path) != lost, hasLog { throw .lost(path: path) }
                lock.note { $0.lostDatabase = nil }
            }
            return size
        }
        if lock.marks.lostDatabase != nil { throw .lost(path: path) }
        try refuseStrayLog()
        try create()
        return 0
    }

    var hasLog: Bool { (status(at: path + "-wal")?.st_size ?? 0) > 0 }

    /// Opens the database for the writer: checks it, sets its options and migrates an older schema.
    ///
    /// - Parameter isSuspect: Whether to check the database completely, whatever its size.
    func connectForWriting(
        _ options: StoreOptions, size: Int64, isSuspect: Bool
    ) throws(StoreOpenError) -> Connection {
        let connection = try openConnection(.readWrite, options)
        // Only an orderly close copies the log into the database; after a failure the next start reads the log again.
        try mappingErrors(at: path) { () throws(SQLiteError) in try connection.enable(.keepsWALOnClose) }
        try connection.checkOwner(path: path)
        if isSuspect {
            try connection.checkWhole(path: path, "PRAGMA integrity_check(1)")
        } else if size <= options.checkedBytes {
            try connection.checkWhole(path: path, "PRAGMA quick_check(1)")
        }
        try connection.configure(path: path, isWriter: true, options: options)
        try connection.migrate(path: path)
        if options.walBytes > 0 {
            try mappingErrors(at: path) { () throws(SQLiteError) in try connection.growWAL(to: Int64(options.walBytes))
            }
        }
        return connection
    }

    /// Opens the database for reading, even while another process writes to it. Reports damage only if it is found
    /// twice. Before the second read, the kernel is asked to drop the cached pages, so that the read comes from the
    /// disk.
    func openForReading<Opened>(
        _ options: StoreOptions, _ body: (Connection) throws(StoreOpenError) -> Opened
    ) throws(StoreOpenError) -> Opened {
        guard let size = try fileSize() else { throw .missingFile(path: path) }
        if size == 0 { throw .emptyFile(path: path) }
        if access(path, R_OK) != 0 { throw .unreadableFile(path: path) }
        try checkNames()
        do throws(StoreOpenError) {
            return try body(try connectForReading(options))
        } catch {
            guard error.mayBeMisread else { throw error }
            for file in [path, path + "-wal"] { forgetCache(of: file) }
            return try body(try connectForReading(options))
        }
    }

    func connectForReading(_ options: StoreOptions) throws(StoreOpenError) -> Connection {
        let connection = try openConnection(.readOnly, options)
        let version = try connection.checkOwner(path: path)
        if version < Migration.current {
            throw .schemaTooOld(path: path, found: version, needed: Migration.current)
        }
        try connection.configure(path: path, isWriter: false, options: options)
        return connection
    }

    /// Asks the kernel to drop the file's cached pages. The descriptor stays open, since closing it would release the
    /// locks of this process's other connections. A process does this at most once or twice.
    func forgetCache(of file: String) {
        let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        if descriptor >= 0 { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }
    }

    private func openConnection(
        _ access: Connection.Access, _ options: StoreOptions
    ) throws(StoreOpenError) -> Connection {
        try mappingErrors(at: path) { () throws(SQLiteError) in
            let connection = try Connection(path: path, access: access)
            // The timeout is set before the first read: after a crash another process may be recovering the log.
            try connection.setBusyTimeout(milliseconds: Int32(clamping: options.busyTimeout.milliseconds))
            return connection
        }
    }

    /// Refuses to create a database next to a log that another database left, since SQLite would replay that log into
    /// the new database.
    func refuseStrayLog() throws(StoreOpenError) {
        if let leftLog { throw .strayLog(path: leftLog) }
    }

    /// The log or rollback journal that is next to the database; nil if there is none, or an empty one.
    var leftLog: String? {
        [path + "-wal", path + "-journal"].first { (status(at: $0)?.st_size ?? 0) > 0 }
    }

    /// Creates a complete database under another name and then links it to its own name, so that a database exists
    /// completely or not at all, and none is ever replaced.
    private func create() throws(StoreOpenError) {
        // These files are left from a crash during creation. No job was ever accepted into them.
        for leftover in [draftPath, draftPath + "-journal"] where unlink(leftover) != 0 && errno != ENOENT {
            throw .system(operation: "remove the leftover", path: leftover, code: errno)
        }
        let descriptor = Glibc.open(draftPath, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw .system(operation: "create", path: draftPath, code: errno) }
        // The umask may have removed permission bits. SQLite gives the WAL the mode of the database.
        let isModeSet = fchmod(descriptor, 0o640) == 0
        let code = errno
        giveToOwner(descriptor, mode: 0o640)
        Glibc.close(descriptor)
        guard isModeSet else { throw .system(operation: "set the mode of", path: draftPath, code: code) }
        try mappingErrors(at: draftPath) { () throws(SQLiteError) in
            let connection = try Connection(path: draftPath, access: .readWrite)
            try connection.execute("PRAGMA synchronous = FULL")
            try connection.execute("BEGIN IMMEDIATE")
            for migration in Migration.all { try migration.run(on: connection) }
            try connection.stamp(Migration.current)
            try connection.execute("COMMIT")
        }
        // link fails if a file of that name exists; rename would replace it.
        guard link(draftPath, path) == 0 else { throw .system(operation: "name", path: path, code: errno) }
        guard unlink(draftPath) == 0 else { throw .system(operation: "remove", path: draftPath, code: errno) }
        try syncDirectory(directory)
    }
}

extension Connection {
    /// Refuses the database of another program, a Halyard database with a newer schema, and one that a move has marked.
    ///
    /// - Returns: The database's schema version.
    @discardableResult
    func checkOwner(path: String) throws(StoreOpenError) -> Int64 {
        let (applicationID, version) = try mappingErrors(at: path) { () throws(SQLiteError) in
            (try integer("PRAGMA application_id") ?? 0, try integer("PRAGMA user_version") ?? 0)
        }
        guard applicationID == Migration.applicationID else {
            throw try moveProblem(applicationID: applicationID, path: path)
                ?? .foreignDatabase(path: path, applicationID: applicationID)
        }
        guard version <= Migration.current else {
            throw .schemaTooNew(path: path, found: version, supported: Migration.current)
        }
        return version
    }

    func checkWhole(path: String, _ check: SQL) throws(StoreOpenError) {
        let answer = try mappingErrors(at: path) { () throws(SQLiteError) in
            let answer = try text(check)
            if answer != "ok", let readFailure { throw readFailure }
            return answer
        }
        guard answer == "ok" else { throw .damaged(path: path, message: answer ?? "the check returned no result") }
    }
}
