import Jobs
import PostgreSQL

/// The reason why a database on a server could not be opened. Nothing was changed (P11).
public enum PostgresOpenError: Error, Sendable, Hashable {
    /// The library libpq is not installed.
    case missingLibrary(message: String)
    /// The server does not answer, or accepts no connections at the moment. Trying again later is safe.
    case unreachable(server: String, message: String)
    /// The server refused the user, the password or the database.
    case refused(server: String, message: String)
    /// The server is older than PostgreSQL 15.
    case serverTooOld(server: String, version: Int)
    /// The URL leads to a connection pooler in transaction mode.
    case pooled(server: String)
    /// The server would acknowledge commits that a power cut loses.
    case notDurable(server: String, setting: String)
    /// There is no schema named `halyard` yet. Only a daemon creates it.
    case missing(server: String)
    /// Another program has created a schema named `halyard`.
    case foreignSchema(server: String)
    /// A newer release of Halyard has migrated the schema.
    case schemaTooNew(server: String, found: Int64, supported: Int64)
    /// An older release of Halyard has created the schema. Only a daemon migrates it.
    case schemaTooOld(server: String, found: Int64, needed: Int64)
    /// The jobs of the database were moved to another one; `place` contains no password.
    case moved(server: String, place: String, at: Timestamp)
    /// A move of jobs to the database has not ended. If the copy is complete, the jobs may be nowhere else.
    case unfinishedMove(server: String, place: String, isComplete: Bool)
    /// "halyard move" uses the database at the moment. Trying again later is safe.
    case beingMoved(server: String)
    /// A thread could not be started; `code` is the `errno`.
    case noThread(code: Int32)
    /// A statement failed.
    case failed(server: String, sqlState: String, message: String)
}

extension PostgresOpenError {
    init(_ error: PostgresError, server: String) {
        switch (error.cause, error.sqlClass) {
        case (.noLibrary, _): self = .missingLibrary(message: error.message)
        case (.unexpected, "3F"): self = .foreignSchema(server: server)
        case (_, "28"), (_, "3D"): self = .refused(server: server, message: error.message)
        case (_, "42") where error.sqlState == SQLState.insufficientPrivilege:
            self = .refused(server: server, message: error.message)
        case (.unreachable, _), (.lost, _), (_, "53"), (_, "57"), (_, "55"), (_, "25"):
            self = .unreachable(server: server, message: error.message)
        default: self = .failed(server: server, sqlState: error.sqlState, message: error.message)
        }
    }
}

extension PostgresOpenError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missingLibrary(let message):
            "A PostgreSQL database needs the library libpq (\(message)). Install it: apt-get install libpq5."
        case .unreachable(let server, let message):
            "The database server \(server) cannot be reached (\(message)). Check the server, the network and the URL, then start again."
        case .refused(let server, let message):
            "The database server \(server) refused the connection (\(message)). Check the user, the password, the database and the user's permissions."
        case .serverTooOld(let server, let version):
            "The database server \(server) is PostgreSQL \(version / 10_000); Halyard needs 15 or newer. Upgrade the server."
        case .pooled(let server):
            "\(server) is a connection pooler in transaction mode, which loses notifications and prepared statements. Connect to the server directly, or switch the pooler to session mode."
        case .notDurable(let server, let setting):
            "The database server \(server) has \(setting), so a power cut could lose accepted jobs. Change the setting, then start again."
        case .missing(let server):
            "The database on \(server) has no jobs of Halyard yet. Start a daemon with this database first; it creates the schema."
        case .foreignSchema(let server):
            "The schema \"halyard\" on \(server) belongs to another program. Use another database."
        case .schemaTooNew(let server, let found, let supported):
            "The job database on \(server) uses schema \(found); this release understands up to \(supported). Upgrade Halyard."
        case .schemaTooOld(let server, let found, let needed):
            "The job database on \(server) uses schema \(found); this release needs \(needed). Start a daemon of this release first; it migrates the schema."
        case .moved(let server, let place, let at):
            "The jobs of the database on \(server) were moved to \(place) at \(at.iso8601). Use that database (the key database, or --database), or move the jobs back with \"halyard move\"."
        case .unfinishedMove(let server, let place, isComplete: true):
            "A move of jobs from \(place) to the database on \(server) has not ended. Repeat the command \"halyard move\"; until then neither database can be used."
        case .unfinishedMove(let server, let place, isComplete: false):
            "A move of jobs from \(place) to the database on \(server) has not ended. Repeat the command \"halyard move\", or go on with \(place) and drop the schema halyard on \(server)."
        case .beingMoved(let server):
            "The jobs of the database on \(server) are being moved with \"halyard move\". Start again when that command has ended."
        case .noThread(let code):
            "A thread for the database could not be started (errno \(code)). Raise the limit of threads (TasksMax=)."
        case .failed(let server, let sqlState, let message):
            "The job database on \(server) could not be opened (\(message), SQLSTATE \(sqlState))."
        }
    }
}
