import Jobs

/// The protocol between the daemon and its workers: JSON lines on the worker's standard input and output.
///
/// The page <doc:WorkerProtocol> describes every message. A worker reads ``DaemonMessage`` and writes ``WorkerMessage``.
/// Its standard error is its log.
public enum WorkerProtocol {
    /// The version of the protocol, which the first message in each direction contains.
    public static let version = 1
    /// The maximum size of a line without its line break: 2 MiB. It holds the largest input or output with its message.
    public static let maxLineBytes = 2 << 20
    /// The maximum number of checkpoints of one attempt that the daemon has not answered.
    public static let maxUnansweredCheckpoints = 1000
}

/// The reason why a line is not a message of the protocol. It names fields, but never contains an input or an output.
public struct WorkerProtocolProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// One clause, such as `job is missing; it is required`.
    public let description: String

    /// Creates a problem.
    public init(_ description: String) { self.description = description }
}
