import Jobs
import SQLite

extension SQLiteError {
    /// A row that only another program or a damaged disk can have left.
    static func damaged(_ message: String) -> SQLiteError {
        SQLiteError(code: Primary.corrupt.rawValue, message: message)
    }
}

extension Statement {
    func timestamp(_ column: Int32) -> Timestamp? { optionalInteger(column).map(Timestamp.init(milliseconds:)) }

    func json(_ column: Int32) -> JSONText? { bytes(column).map(JSONText.init(trusted:)) }

    /// A code, a message and a detail, in this order.
    func failure(from first: Int32) -> JobFailure? {
        guard let code = optionalString(first) else { return nil }
        return JobFailure(code: code, message: string(first + 1), detail: json(first + 2))
    }

    func bind(_ parameter: Int32, failure: JobFailure?) throws(SQLiteError) {
        try bind(parameter, failure?.code)
        try bind(parameter + 1, failure?.message)
        try bind(parameter + 2, text: failure?.detail?.bytes)
    }
}
