import Glibc
import SQLite

/// The reason why the content of a database could not be checked. It does not prevent a start.
public enum UncheckedContent: Sendable, Hashable {
    /// A process holds the database; `pid` is nil if it is unknown.
    case inUse(path: String, pid: Int32?)
    /// A start recovers this log first.
    case unrecovered(log: String)
    /// The file changed during the check.
    case changed(path: String)
}

extension UncheckedContent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .inUse(let path, let pid):
            "the content of \(path) was not checked, because \(pid.map { "process \($0)" } ?? "another process") is using it"
        case .unrecovered(let log):
            "the content of the database was not checked, because the next start must recover \(log) first"
        case .changed(let path):
            "the content of \(path) could not be checked, because another process changed it during the check; check again"
        }
    }
}

extension SQLiteJobStore {
    /// Checks whether a start with this database would succeed. Changes nothing and creates nothing.
    ///
    /// Checks the content as a start does, as far as it can be read without recovering or locking anything.
    ///
    /// - Returns: Why the content could not be checked; nil if it is good.
    /// - Throws: The error that a start would throw, or ``StoreOpenError/missingFile(path:)`` if a start would create
    ///   the database.
    public static func check(
        databaseAt path: String, options: StoreOptions = StoreOptions()
    ) throws(StoreOpenError) -> UncheckedContent? {
        let location = try DatabaseLocation(path)
        try location.checkFreeSpace(atLeast: options.minimumFreeBytes)
        do throws(StoreOpenError) {
            try checkHeader(ofDatabaseAt: location.path)
        } catch {
            if case .missingFile = error { try location.refuseStrayLog() }
            throw error
        }
        try location.checkNames()
        return try location.checkContent(isWhole: { $0 <= options.checkedBytes })
    }
}

extension DatabaseLocation {
    /// Reads the content without locks. If that fails while another process opens or changes the database, or left a
    /// log, the failure proves nothing.
    ///
    /// - Parameters:
    ///   - isWhole: Whether a file of this many bytes is checked completely.
    ///   - beforeEachRead: For tests that change the file during the check.
    func checkContent(
        isWhole: (Int64) -> Bool, beforeEachRead: () throws(StoreOpenError) -> Void = { () throws(StoreOpenError) in }
    ) throws(StoreOpenError) -> UncheckedContent? {
        var isSecondRead = false
        while true {
            if let obstacle { return obstacle }
            guard let version = FileVersion(at: path) else { throw .missingFile(path: path) }
            try beforeEachRead()
            do throws(StoreOpenError) {
                try readContent(isWhole: isWhole(version.size))
                return nil
            } catch {
                if let obstacle { return obstacle }
                if FileVersion(at: path) != version { return .changed(path: path) }
                guard error.mayBeMisread, !isSecondRead else { throw error }
                isSecondRead = true
                forgetCache(of: path)
            }
        }
    }

    /// The reason why a start might find other content than this file's; nil if there is none.
    private var obstacle: UncheckedContent? {
        // Losing the error is harmless: the check assumes that no process holds the database, or finds the problem again.
        if let holder = try? DatabaseLock.holder(ofDatabaseAt: path) { return .inUse(path: path, pid: holder.pid) }
        return leftLog.map { .unrecovered(log: $0) }
    }

    private func readContent(isWhole: Bool) throws(StoreOpenError) {
        let connection = try mappingErrors(at: path) { () throws(SQLiteError) in
            try Connection(path: path, access: .readOnlyAlone)
        }
        try connection.checkOwner(path: path)
        if isWhole { try connection.checkWhole(path: path, "PRAGMA quick_check(1)") }
    }
}

/// Differs after the file was written or replaced.
private struct FileVersion: Equatable {
    let identity: FileIdentity
    let size: Int64
    private let changes: [Int]

    init?(at path: String) {
        guard let status = status(at: path) else { return nil }
        identity = FileIdentity(status)
        size = Int64(status.st_size)
        changes = [status.st_mtim, status.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
    }
}
