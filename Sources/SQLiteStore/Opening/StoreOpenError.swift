import Jobs

/// The reason why a database could not be opened. Nothing was changed, and nothing was created in its place (P11).
public enum StoreOpenError: Error, Sendable, Hashable {
    case missingDirectory(path: String)
    case notADirectory(path: String)
    case readOnlyDirectory(path: String)
    /// The process cannot write to the file, or its file system is mounted read-only.
    case readOnlyFile(path: String)
    /// The process has no permission to read the file.
    case unreadableFile(path: String)
    case missingFile(path: String)
    case notARegularFile(path: String)
    /// The lock is held by another process, whose `pid` is nil if it is unknown.
    case locked(path: String, pid: Int32?)
    /// Another process holds the same file under another name.
    case lockedUnderAnotherName(path: String, pid: Int32?)
    /// The file has hard links.
    case manyNames(path: String, count: Int)
    /// The file itself, not its directory, is a mount point.
    case mountedAlone(path: String)
    /// The database was removed or replaced while a daemon used it, and has not been put back.
    case lost(path: String)
    /// After a failed sync, parts of a file stay in memory, so the store cannot read them from the disk again.
    case stillCached(path: String)
    /// A read or a sync failed, and another open connection prevents reading the database from the disk again.
    case unsyncedWithReader(path: String, pid: Int32?)
    case diskFull(path: String, freeBytes: Int64, neededBytes: Int64)
    case emptyFile(path: String)
    /// There is a log, but no database that it belongs to.
    case strayLog(path: String)
    case notADatabase(path: String)
    /// An SQLite database of another program.
    case foreignDatabase(path: String, applicationID: Int64)
    /// The jobs of the database were moved to another one; `place` contains no password.
    case moved(path: String, place: String, at: Timestamp)
    /// A move of jobs to the database has not ended. If the copy is complete, the jobs may be nowhere else.
    case unfinishedMove(path: String, place: String, isComplete: Bool)
    /// A newer release of Halyard has migrated the database.
    case schemaTooNew(path: String, found: Int64, supported: Int64)
    /// A reader found an older schema. Only the writer migrates the database.
    case schemaTooOld(path: String, found: Int64, needed: Int64)
    /// The migration needs more room than the disk has.
    case noRoomToMigrate(path: String, found: Int64, needed: Int64, freeBytes: Int64, neededBytes: Int64)
    /// Rows of `table` refer to rows of `parent` that do not exist; found by a migration.
    case danglingRows(path: String, table: String, parent: String)
    /// SQLite found damage in two reads of the file; `message` describes it.
    case damaged(path: String, message: String)
    /// Another process holds a transaction open for longer than ``StoreOptions/busyTimeout``. Trying again later is
    /// safe.
    case busy(path: String)
    /// SQLite did not accept a setting on which durability depends.
    case settingRefused(path: String, setting: String, found: String)
    /// A system call failed; `code` is its `errno`.
    case system(operation: String, path: String, code: Int32)
    /// `code` is SQLite's extended result code.
    case sqlite(path: String, code: Int32, message: String)
}

extension StoreOpenError {
    /// Whether the file is not a database of Halyard, so that nothing may be created next to it.
    public var isOfAnotherProgram: Bool {
        switch self {
        case .foreignDatabase, .notADatabase, .notARegularFile, .emptyFile: true
        default: false
        }
    }
}

extension StoreOpenError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missingDirectory(let path):
            "There is no directory \(path) for the job database. Create it, or set another path for the database."
        case .notADirectory(let path):
            "\(path) is not a directory, so the job database cannot be in it. Set another path for the database."
        case .readOnlyDirectory(let path):
            "The directory \(path) cannot be written; the job database keeps its write-ahead log there. Give the daemon's user write permission on it, or mount it writable."
        case .readOnlyFile(let path):
            "The job database \(path) cannot be written. Give the daemon's user write permission on it, or mount its disk writable."
        case .unreadableFile(let path):
            "The job database \(path) cannot be read. Give this user read permission on it; members of the daemon's group have it."
        case .missingFile(let path):
            "There is no job database at \(path). Start halyardd once to create it, or use another path."
        case .notARegularFile(let path):
            "\(path) is not a regular file. Move it away, or set another path for the database."
        case .locked(let path, let pid):
            "The job database \(path) is in use by \(pid.map { "process \($0)" } ?? "another process"). Use that daemon through its socket, or stop it first."
        case .lockedUnderAnotherName(let path, let pid):
            "The job database \(path) is in use by \(pid.map { "process \($0)" } ?? "another process") under another name, through a hard link or a second mount. Use that daemon through its socket, or stop it and give the file only one name."
        case .manyNames(let path, let count):
            "The job database \(path) has \(count) names (hard links), and its write-ahead log belongs to only one of them. Find the others with \"find / -xdev -samefile \(path)\" and remove them, or replace them with copies."
        case .mountedAlone(let path):
            "The job database \(path) is mounted as a single file, so its write-ahead log would not be kept with it. Mount the directory that holds it."
        case .lost(let path):
            "The job database \(path) was removed or replaced while a daemon used it. Put it back with its -wal file. To use another database in its place, move \(path)-wal away; to begin with an empty one, remove \(path)-lock too."
        case .stillCached(let path):
            "Parts of \(path) stay in memory, probably because another process has mapped the file, and may differ from the disk after a failed sync. End the process that maps it (see fuser, lsof), or reboot, then start again."
        case .unsyncedWithReader(let path, let pid):
            "A read or a sync of the job database \(path) failed. Halyard must read the file from the disk again, and needs exclusive access for that. End \(pid.map { "process \($0)" } ?? "the process that has it open (an sqlite3 shell?)"), then start again."
        case .diskFull(let path, let free, let needed):
            "The disk that holds \(path) has \(free / 1024) KiB free; the job database needs \(needed / 1024) KiB to start. Free some space, then start again."
        case .emptyFile(let path):
            "\(path) is an empty file, not a job database, and Halyard does not replace it with a new one. Restore a backup, or move it away, with its -wal and -shm files, to start with a new database."
        case .strayLog(let path):
            "\(path) exists without its database; SQLite would apply it to a new one. Move the database back next to it; or, to start with a new database, move this file away as well."
        case .notADatabase(let path):
            "\(path) is not an SQLite database, or its beginning is damaged. Keep a copy, then restore a backup, or move it away, with its -wal and -shm files, to start with a new database."
        case .foreignDatabase(let path, let applicationID):
            "\(path) is an SQLite database of another program (application id \(applicationID)). Set another path for the job database."
        case .moved(let path, let place, let at):
            "The jobs of \(path) were moved to \(place) at \(at.iso8601). Use that database (the key database, or --database), or move the jobs back with \"halyard move\"."
        case .unfinishedMove(let path, let place, isComplete: true):
            "A move of jobs from \(place) to \(path) has not ended. Repeat the command \"halyard move\"; until then neither database can be used."
        case .unfinishedMove(let path, let place, isComplete: false):
            "A move of jobs from \(place) to \(path) has not ended. Repeat the command \"halyard move\", or go on with \(place) and remove \(path)."
        case .schemaTooNew(let path, let found, let supported):
            "The job database \(path) uses schema \(found); this release understands up to \(supported). Upgrade Halyard."
        case .schemaTooOld(let path, let found, let needed):
            "The job database \(path) uses schema \(found); this release needs schema \(needed). Start halyardd once to upgrade the database."
        case .noRoomToMigrate(let path, let found, let needed, let free, let neededBytes):
            "The disk that holds \(path) has \(free / 1024) KiB free; upgrading the database from schema \(found) to schema \(needed) needs about \(neededBytes / 1024) KiB. The database is unchanged. Free some space, then start again."
        case .danglingRows(let path, let table, let parent):
            "Rows of table \(table) in the job database \(path) refer to rows of table \(parent) that do not exist, so its schema cannot be upgraded; another program changed the file. The database is unchanged. Keep a copy, list the rows with \"sqlite3 \(path) 'PRAGMA foreign_key_check'\", delete them, then start again."
        case .damaged(let path, let message):
            "The job database \(path) is damaged (\(message)). Keep a copy of it with its -wal file, then restore a backup, or rescue what is readable with \"sqlite3 \(path) .recover\"."
        case .busy(let path):
            "The job database \(path) is locked by another process. End the transaction that holds it (an open sqlite3 shell?), then start again."
        case .settingRefused(let path, let setting, let found):
            "SQLite did not accept \(setting) for \(path) (it reports \(found)); without this setting, accepted jobs could be lost. Use a local file system that supports it."
        case .system(let operation, let path, let code):
            "Could not \(operation)\(path.isEmpty ? "" : " \(path)"): \(systemMessage(code)) (errno \(code)). Correct the cause, then start again."
        case .sqlite(let path, let code, let message):
            "The job database \(path) could not be opened (\(message), SQLite code \(code)). Check the disk and the kernel's log."
        }
    }
}
