/// A piece of work with a typed input, output and failure.
///
/// The same declaration can be used as an awaited value, a `Future`, a Foundation `Operation`, a publisher and a
/// callback (module `Operations`), and as a kind of durable job (module `Jobs`).
public protocol TypedOperation<Input, Output, Failure>: Sendable {
    associatedtype Input: Sendable
    associatedtype Output: Sendable
    associatedtype Failure: Error

    /// Does the work.
    ///
    /// When the work should stop, its task and `context.cancellation` are cancelled. The operation should then
    /// throw soon. An error that it throws after that does not count as a failure.
    ///
    /// - Throws: The failure of the work.
    func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output
}

/// The context of one run of an operation.
public struct OperationContext: Sendable {
    /// The number of this attempt, from 1.
    public let attempt: Int
    /// Cancels when the work should stop.
    public let cancellation: CancellationToken
    private let onProgress: (@Sendable (OperationProgress) -> Void)?

    /// Creates a context. Default: the first attempt, which is never cancelled and whose progress is not observed.
    public init(
        attempt: Int = 1, cancellation: CancellationToken = .none,
        onProgress: (@Sendable (OperationProgress) -> Void)? = nil
    ) {
        self.attempt = attempt
        self.cancellation = cancellation
        self.onProgress = onProgress
    }

    /// A copy of the context for another attempt.
    public func with(attempt: Int) -> OperationContext {
        OperationContext(attempt: attempt, cancellation: cancellation, onProgress: onProgress)
    }

    /// A copy of the context with another token.
    package func with(cancellation: CancellationToken) -> OperationContext {
        OperationContext(attempt: attempt, cancellation: cancellation, onProgress: onProgress)
    }

    /// Reports the progress of the work to the observer of this run. The call is cheap; progress is not stored.
    public func report(_ progress: OperationProgress) { onProgress?(progress) }
}

/// The progress of a run. The numbers never decrease within an attempt.
public struct OperationProgress: Sendable, Hashable, Codable {
    /// The number of completed units.
    public var completed: Int64
    /// The total number of units; nil while it is unknown.
    public var total: Int64?
    /// The unit that is counted, such as `bytes`.
    public var unit: String

    public init(completed: Int64, total: Int64? = nil, unit: String) {
        self.completed = completed
        self.total = total
        self.unit = unit
    }
}

/// A failure with a code that never changes, and with the information whether a retry may help.
public protocol OperationFailure: Error, Codable, Sendable, CustomStringConvertible {
    /// A stable code in snake_case. Its documentation says what to do about the failure.
    var code: String { get }
    /// Whether the same work may succeed when tried again.
    var isRetryable: Bool { get }
    /// The wait that the other side requested before a retry; nil if it requested none. Default: nil.
    var retryAfter: Duration? { get }
}

extension OperationFailure {
    public var retryAfter: Duration? { nil }
}
