/// The reason why the store could not carry out a request. Unless a case says otherwise, nothing was written.
public enum StoreError: Error, Sendable, Hashable {
    /// Another process holds the database; retrying is safe.
    case busy(waitedMilliseconds: Int)
    /// The disk is full. Retrying succeeds once there is space.
    case diskFull(path: String)
    /// The database cannot be written, because of its permissions or because it was opened only for reading.
    case readOnly(path: String)
    /// The role in the URL lacks the permission for the statement.
    case denied(server: String, message: String)
    /// A system call failed; `code` is the database's own code, 0 for none.
    case inputOutput(code: Int32, message: String)
    /// COMMIT returned an error: the transaction may or may not be stored. The store accepts no further requests;
    /// reopen it to find out. With an idempotency key, repeating an enqueue is harmless.
    case commitUnknown(code: Int32, message: String)
    /// The database server cannot be reached, or refuses connections at the moment. The store connects again by itself.
    case unreachable(server: String, message: String)
    /// The connection to the database server broke before COMMIT was answered: the transaction may or may not be
    /// stored. The store connects again by itself. To find out, read the running jobs (``JobStore/held(by:)``), the
    /// attempt or the idempotency key; repeating a request with a key is harmless.
    case unanswered(server: String, message: String)
    /// The database is damaged. A temporary read error can look the same, so the next start checks the database on the
    /// disk.
    case damaged(message: String)
    /// A file of the store was removed, renamed or replaced while it was in use. The request may or may not be stored,
    /// and the store accepts no further requests. `isSaved` is true if everything that was accepted is in the database
    /// at its usual path.
    case fileLost(path: String, isSaved: Bool)
    /// Another program wrote to the database while it was in use. The request may or may not be stored, and the store
    /// accepts no further requests.
    case overwritten(path: String)
    /// A daemon of another machine or with another home, or of this machine before its restart, has the same identity, and
    /// its life lasts.
    /// Nothing was changed.
    case identityInUse(host: String)
    /// The jobs were moved to another database while the store was open. Nothing was written.
    case moved(message: String)
    /// The change would exceed the limit of schedules, ``Schedule/maxCount``.
    case tooManySchedules(limit: Int)
    /// The store was closed, or has stopped because of an error; see ``StoreChange/stopped(_:)``.
    case closed
    /// A statement failed in a way that only a defect in Halyard can cause.
    case internalError(code: Int32, message: String)
}

extension StoreError {
    /// Whether the same request may succeed if it is repeated a little later. Nothing was written.
    public var isTransient: Bool {
        switch self {
        case .busy, .diskFull, .unreachable: true
        case .unanswered, .readOnly, .denied, .inputOutput, .commitUnknown, .damaged, .fileLost, .overwritten,
            .identityInUse, .moved, .tooManySchedules, .closed, .internalError:
            false
        }
    }
}

extension StoreError {
    /// Whether the store carries out later requests nevertheless, because the error passes.
    public var isPassing: Bool { if case .unanswered = self { true } else { isTransient } }
}

extension StoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .busy(let waited):
            "The database was locked by another process for \(waited) ms. End the transaction that holds it (an open shell of sqlite3 or psql?), then try again."
        case .diskFull(let path):
            "The disk that holds \(path) is full. Free some space; nothing was written."
        case .readOnly(let path):
            "The database \(path) cannot be written. Give the daemon's user write permission on the file and its directory."
        case .denied(let server, let message):
            "The role may not do this on the database server \(server) (\(message)). Nothing was written. Use a role that has the permission; a command can also go through a daemon (--socket)."
        case .inputOutput(let code, let message):
            "The database could not be read or written (\(message)\(Self.suffix(code))). Check the disk and the kernel's log."
        case .commitUnknown(let code, let message):
            "A commit failed (\(message)\(Self.suffix(code))): its changes may or may not be stored. Start the daemon again to find out; repeat the enqueue with its idempotency key."
        case .unreachable(let server, let message):
            "The database server \(server) cannot be reached (\(message)). Nothing was written. Check the server and the network; the daemon tries again by itself."
        case .unanswered(let server, let message):
            "The connection to the database server \(server) broke during a commit (\(message)): its changes may or may not be stored. Look before you repeat the request, or repeat it with its idempotency key."
        case .damaged(let message):
            "The database looks damaged (\(message)), or the disk failed temporarily. Start the daemon again: it reads the database from the disk and checks it."
        case .fileLost(let path, let isSaved):
            isSaved
                ? "\(path) was removed, renamed or replaced while the daemon used it. All accepted jobs are in the database. Start the daemon again."
                : "\(path) was removed, renamed or replaced while the daemon used it, and jobs are missing without it. Put it back in its place, then start the daemon again."
        case .overwritten(let path):
            "\(path) was written to by another program while the daemon used it, and jobs may be missing. Start the daemon again: it checks the database. To put a backup in its place, stop the daemon first."
        case .identityInUse(let host):
            "A daemon on \(host) has the same daemon-id as this one. If both should run, one home was copied from the other: remove the file daemon-id from one of the two homes, and start that daemon again. If that daemon was this one before its machine was restarted or its home was moved, wait until its lease ends."
        case .moved(let message):
            "\(message) Set the key database in the daemon's configuration to the database that has the jobs now, then start the daemon."
        case .tooManySchedules(let limit):
            "There are already \(limit) schedules, the maximum. Remove or change one."
        case .closed:
            "The store is closed. Start the daemon again."
        case .internalError(let code, let message):
            "A statement failed (\(message)\(Self.suffix(code))). This is a defect; please report it."
        }
    }
    /// The database's own code of the error, for people; empty if it has none.
    private static func suffix(_ code: Int32) -> String { code == 0 ? "" : ", code \(code)" }
}
