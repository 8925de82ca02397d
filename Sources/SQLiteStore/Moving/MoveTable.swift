import Jobs
import Moving
import SQLite

/// The mark of a move in a file: the application id in its header, which every release checks first, and the table
/// `move`.
extension Migration {
    /// The application id of a database whose jobs were moved: "HALM" in ASCII.
    static let movedID: Int64 = 0x4841_4C4D
    /// The application id of a database to which jobs are being moved: "HALU" in ASCII.
    static let unfinishedID: Int64 = 0x4841_4C55
}

/// Identifies a file: the machine and the path there. A machine without an id counts as any other one without.
func fileKey(_ path: String) -> String {
    let machine = text(ofFile: "/etc/machine-id").map { String($0.prefix { $0 > " " }) } ?? ""
    return machine + path
}

extension Connection {
    /// Creates the table `move` with this mark, and sets the application id, in the caller's transaction.
    func writeMark(_ mark: MoveMark, applicationID: Int64) throws(SQLiteError) {
        try execute(
            """
            DROP TABLE IF EXISTS move;
            CREATE TABLE move (
                id          INTEGER PRIMARY KEY CHECK (id = 1),
                move        TEXT NOT NULL,
                key         TEXT NOT NULL,
                place       TEXT NOT NULL,
                at_ms       INTEGER NOT NULL,
                is_verified INTEGER NOT NULL
            ) STRICT;
            PRAGMA application_id = \(applicationID)
            """)
        let insert = try RowStatement("INSERT INTO move VALUES (1, ?1, ?2, ?3, ?4, ?5)", on: self)
        try insert.bind(mark.id, to: 1)
        try insert.bind(mark.key, to: 2)
        try insert.bind(mark.place, to: 3)
        try insert.bind(mark.at.milliseconds, to: 4)
        try insert.bind(mark.isVerified, to: 5)
        try insert.run()
    }

    /// Removes the table `move`, and makes the database an ordinary one, in the caller's transaction.
    func removeMark() throws(SQLiteError) {
        try execute("DROP TABLE move; PRAGMA application_id = \(Migration.applicationID)")
    }

    /// Reads the table `move`.
    func mark() throws(SQLiteError) -> MoveMark {
        let mark = try prepare("SELECT move, key, place, at_ms, is_verified FROM move").first {
            MoveMark(
                id: $0.string(0), key: $0.string(1), place: $0.string(2),
                at: Timestamp(milliseconds: $0.integer(3)), isVerified: $0.integer(4) != 0)
        }
        guard let mark else { throw .damaged("table move is empty") }
        return mark
    }

    /// The error for a database that a move has marked; nil for any other.
    func moveProblem(applicationID: Int64, path: String) throws(StoreOpenError) -> StoreOpenError? {
        guard [Migration.movedID, Migration.unfinishedID].contains(applicationID) else { return nil }
        let mark = try mappingErrors(at: path) { () throws(SQLiteError) in try self.mark() }
        return applicationID == Migration.movedID
            ? .moved(path: path, place: mark.place, at: mark.at)
            : .unfinishedMove(path: path, place: mark.place, isComplete: mark.isVerified)
    }

    /// Opens a file whose lock this process holds, to look for a mark. The header of the file may be older than the
    /// log, so only SQLite can read the application id. Closing keeps the log for the store, which decides whether to
    /// trust it.
    static func toLook(at path: String) throws(SQLiteError) -> Connection {
        let connection = try Connection(path: path, access: .readWrite)
        try connection.enable(.keepsWALOnClose)
        try connection.leaveWALFilesOnClose()
        return connection
    }

    /// The application id, even if it is only in the log.
    func applicationID() throws(SQLiteError) -> Int64 { try integer("PRAGMA application_id") ?? 0 }

    /// Runs `body` in a transaction.
    func transaction(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            try body()
            try execute("COMMIT")
        } catch {
            resetStatements()
            // Losing this error is harmless: without a COMMIT in the log nothing happened.
            if !isAutocommit { try? execute("ROLLBACK") }
            throw error
        }
    }
}
