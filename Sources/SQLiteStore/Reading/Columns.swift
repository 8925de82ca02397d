import Jobs
import SQLite

extension SQLiteError {
    /// The error for a row that the store cannot have written: another program changed it, or the disk is damaged.
    static func damaged(_ message: String) -> SQLiteError {
        SQLiteError(code: Primary.corrupt.rawValue, message: message)
    }
}

extension Statement {
    func timestamp(_ column: Int32) -> Timestamp? { optionalInteger(column).map(Timestamp.init(milliseconds:)) }

    func json(_ column: Int32) -> JSONText? { bytes(column).map(JSONText.init(trusted:)) }

    /// Reads a failure from three columns: code, message and detail. Nil if the code is NULL.
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

extension JobState {
    // Indexes and counts rely on the order of the numbers: open states, `succeeded`, the other final states.
    static let firstFinal = JobState.succeeded
    static let firstUnsuccessful = JobState.failed
}
