import CSQLite

/// An error that SQLite returned.
public struct SQLiteError: Error, Hashable, Sendable {
    /// The extended result code.
    public let code: Int32
    /// SQLite's message. It may contain names from the schema, but never bound values.
    public let message: String

    public init(code: Int32, message: String) {
        self.code = code
        self.message = message
    }

    /// SQLITE_IOERR_READ, which Swift cannot import.
    static let failedReadCode = SQLITE_IOERR | 1 << 8

    /// Whether the error is a failed read; nothing was written.
    public var isFailedRead: Bool { code == Self.failedReadCode }

    /// The primary result code: the kind of error, without its details.
    public var primary: Primary { Primary(rawValue: code & 0xFF) }

    /// A primary result code of SQLite.
    public struct Primary: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }

        public static let busy = Primary(rawValue: SQLITE_BUSY)
        public static let locked = Primary(rawValue: SQLITE_LOCKED)
        public static let readOnly = Primary(rawValue: SQLITE_READONLY)
        public static let inputOutput = Primary(rawValue: SQLITE_IOERR)
        public static let corrupt = Primary(rawValue: SQLITE_CORRUPT)
        public static let full = Primary(rawValue: SQLITE_FULL)
        public static let cannotOpen = Primary(rawValue: SQLITE_CANTOPEN)
        public static let constraint = Primary(rawValue: SQLITE_CONSTRAINT)
        public static let notADatabase = Primary(rawValue: SQLITE_NOTADB)
        public static let permission = Primary(rawValue: SQLITE_PERM)
        public static let mismatch = Primary(rawValue: SQLITE_MISMATCH)
        public static let tooBig = Primary(rawValue: SQLITE_TOOBIG)
        public static let authorization = Primary(rawValue: SQLITE_AUTH)
    }
}

extension SQLiteError: CustomStringConvertible {
    public var description: String { "\(message) (SQLite code \(code))" }
}
