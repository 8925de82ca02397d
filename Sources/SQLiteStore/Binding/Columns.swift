import Jobs
import SQLite

extension SQLiteError {
    /// The error for a row that the store cannot have written: another program changed it, or the disk is damaged.
    static func damaged(_ message: String) -> SQLiteError {
        SQLiteError(code: Primary.corrupt.rawValue, message: message)
    }
}

extension Statement {
    func job(_ column: Int32) -> JobID { JobID(integer(column)) }

    func optionalJob(_ column: Int32) -> JobID? { optionalInteger(column).map(JobID.init(_:)) }

    func graph(_ column: Int32) -> GraphID? { optionalInteger(column).map(GraphID.init(_:)) }

    func timestamp(_ column: Int32) -> Timestamp { Timestamp(milliseconds: integer(column)) }

    func optionalTimestamp(_ column: Int32) -> Timestamp? { isNull(column) ? nil : timestamp(column) }

    func json(_ column: Int32) -> JSONText? { bytes(column).map(JSONText.init(trusted:)) }

    func condition(_ column: Int32) -> DependencyCondition {
        DependencyCondition(rawValue: Int(integer(column))) ?? .succeeded
    }

    /// Reads a failure from three columns: code, message and detail. Nil if the code is NULL.
    func failure(from first: Int32) -> JobFailure? {
        guard let code = optionalString(first) else { return nil }
        return JobFailure(code: code, message: string(first + 1), detail: json(first + 2))
    }
}

extension JobState {
    // Indexes and counts rely on the order of the numbers: open states, `succeeded`, the other final states.
    static let firstFinal = JobState.succeeded
    static let firstUnsuccessful = JobState.failed
}
