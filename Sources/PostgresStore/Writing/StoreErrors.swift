import Jobs
import PostgreSQL

extension StoreError {
    enum Phase {
        case running
        case committing
    }

    init(_ error: PostgresError, server: String, phase: Phase) {
        switch (error.cause, error.sqlClass) {
        case (.lost, _) where phase == .committing: self = .unanswered(server: server, message: error.message)
        case (.noLibrary, _), (.unreachable, _), (.lost, _): self = .unreachable(server: server, message: error.message)
        // The server is shutting down, or has too many connections.
        case (_, "57") where error.sqlState != SQLState.cancelled, (_, "08"):
            self = .unreachable(server: server, message: error.message)
        case (_, "53") where error.sqlState == SQLState.diskFull: self = .diskFull(path: server)
        case (_, "53"): self = .unreachable(server: server, message: error.message)
        case (_, "55") where error.sqlState == SQLState.moved: self = .moved(message: error.message)
        case (_, "40"), (_, "55"), (_, "57"): self = .busy(waitedMilliseconds: Int(Self.lockTimeout.milliseconds))
        // A standby, until it is promoted.
        case (_, "25") where error.isReadOnly: self = .unreachable(server: server, message: error.message)
        case (_, "42") where error.sqlState == SQLState.insufficientPrivilege:
            self = .denied(server: server, message: error.message)
        case (_, "58"), (_, "XX"): self = .inputOutput(code: 0, message: error.description)
        default: self = .internalError(code: 0, message: error.description)
        }
    }

    /// How long a statement waits for a lock of another transaction.
    static let lockTimeout = Duration.seconds(10)
}
