import JobFiles
import Jobs

/// The place where the logs and the result files of attempts are kept.
///
/// All functions are called on the attempt's dedicated thread, so they may block on the disk.
public protocol ProgramFiles: Sendable {
    /// The folder in which files are kept.
    var folder: String { get }
    /// Begins the log of an attempt.
    ///
    /// - Parameter limit: The maximum size of the log in bytes.
    func beginLog(of lease: Lease, limit: Int) throws -> any ProgramLog
    /// Keeps a regular file that an attempt has written. It is moved, not copied, and durable when this returns.
    ///
    /// - Parameter name: The name of the kept file, without a folder.
    func keep(_ path: String, of lease: Lease, name: String) throws -> KeptFile
    /// Removes the file that an attempt has kept, since no result will mention it.
    func discard(_ lease: Lease) throws
    /// Gives a program the file that an attempt has kept, as a clone or a link at this path; nil if there is none.
    ///
    /// - Throws: ``JobFilesError/damaged(path:)`` if somebody has changed the file.
    func lend(_ lease: Lease, at path: String) throws -> LentFile?
    /// Ends a loan, after the program has ended.
    ///
    /// - Returns: Whether the file is unchanged. If not, nobody gets it again.
    func takeBack(_ lent: LentFile) throws -> Bool
}

/// The log of a running attempt.
public protocol ProgramLog: Sendable {
    /// Adds bytes that the attempt wrote.
    func append(_ bytes: UnsafeRawBufferPointer)
    /// Adds a line of the daemon. The bytes before it end with a line break.
    func note(_ line: String)
    /// Ends the log.
    func finish()
}
