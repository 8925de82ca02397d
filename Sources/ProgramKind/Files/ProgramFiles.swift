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
    /// The file that an attempt has kept; nil if there is none.
    func file(of lease: Lease) throws -> KeptFile?
}

/// The log of a running attempt.
public protocol ProgramLog: Sendable {
    /// Adds bytes that the attempt wrote.
    func append(_ bytes: UnsafeRawBufferPointer)
    /// Ends the log.
    func finish()
}
