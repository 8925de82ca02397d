import Jobs
import SQLite

extension StoreError {
    enum Phase {
        case running
        case committing
    }

    init(_ error: SQLiteError, path: String, phase: Phase, waited: Duration = .zero) {
        switch (error.primary, phase) {
        // A commit that could not get the lock has not begun.
        case (.busy, _), (.locked, _): self = .busy(waitedMilliseconds: Int(waited.milliseconds))
        // There was no space left in the log, so the last frame, which marks the commit, was not written.
        case (.full, _): self = .diskFull(path: path)
        case (_, .committing): self = .commitUnknown(code: error.code, message: error.message)
        case (.readOnly, _), (.permission, _): self = .readOnly(path: path)
        case (.inputOutput, _), (.cannotOpen, _): self = .inputOutput(code: error.code, message: error.message)
        case (.corrupt, _), (.notADatabase, _): self = .damaged(message: error.message)
        default: self = .internalError(code: error.code, message: error.message)
        }
    }
}
