/// The reason why the server did not do what a statement asks, or could not be asked.
public struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where the request failed.
    public enum Cause: Sendable, Hashable {
        /// The library libpq cannot be loaded.
        case noLibrary
        /// No connection could be made. The server may have refused it, with a ``PostgresError/sqlState``.
        case unreachable
        /// The connection broke, or the server did not answer in time. The connection is closed.
        case lost
        /// The server refused the statement, and the transaction has failed.
        case refused
        /// An answer is not as the statement promises.
        case unexpected
    }

    public let cause: Cause
    /// The five characters by which PostgreSQL classifies an error; empty if the server did not answer.
    public let sqlState: String
    /// The text for people, in the server's language. It contains no arguments of statements.
    public let message: String
    /// The constraint that the statement violates; nil for other errors.
    public let constraint: String?
    /// Whether the statement certainly did not run, because an earlier statement that was put off has failed
    /// (``Connection/putOff(_:_:)``).
    public internal(set) var isOfEarlierStatement = false

    /// Creates an error.
    public init(_ cause: Cause, sqlState: String = "", message: String, constraint: String? = nil) {
        self.cause = cause
        self.sqlState = sqlState
        self.message = message
        self.constraint = constraint
    }

    /// Whether the same transaction may succeed at once if it is repeated: another transaction was in its way.
    public var isConflict: Bool {
        sqlState == SQLState.deadlock || sqlState == SQLState.serialization || sqlState == SQLState.duplicateKey
    }

    /// Whether a prepared statement no longer fits, since another program has changed a table. A new connection prepares
    /// it again.
    public var isStale: Bool { sqlState == SQLState.featureNotSupported }

    /// Whether the server accepts no writes: it is a standby, or was one when it was connected to.
    public var isReadOnly: Bool { sqlState == SQLState.readOnlyTransaction }

    /// The class of the error: the first two characters of ``sqlState``.
    public var sqlClass: String { String(sqlState.prefix(2)) }

    public var description: String { sqlState.isEmpty ? message : "\(message) (SQLSTATE \(sqlState))" }
}

/// The values of ``PostgresError/sqlState`` that callers distinguish.
public enum SQLState {
    public static let featureNotSupported = "0A000"
    public static let serialization = "40001"
    public static let deadlock = "40P01"
    public static let duplicateKey = "23505"
    public static let lockTimeout = "55P03"
    public static let cancelled = "57014"
    public static let undefinedTable = "42P01"
    public static let undefinedSchema = "3F000"
    public static let diskFull = "53100"
    public static let readOnlyTransaction = "25006"
    public static let insufficientPrivilege = "42501"
    public static let wrongPassword = "28P01"
}
