/// One piece of work with a typed input, output and failure.
///
/// From this one declaration come an awaited value, a `Future`, a Foundation `Operation`, a publisher and a callback
/// (module `Operations`), and a kind of durable job (module `Jobs`).
public protocol TypedOperation<Input, Output, Failure>: Sendable {
    associatedtype Input: Sendable
    associatedtype Output: Sendable
    associatedtype Failure: Error

    /// Does the work.
    ///
    /// The task it runs in is cancelled, and `context.cancellation` with it, when the work should stop; the
    /// operation then throws soon. What it throws after that is not counted as a failure.
    func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output
}

/// What surrounds one run of an operation.
public struct OperationContext: Sendable {
    /// The number of this attempt, from 1.
    public let attempt: Int
    public let cancellation: CancellationToken
    private let onProgress: (@Sendable (OperationProgress) -> Void)?

    public init(
        attempt: Int = 1, cancellation: CancellationToken = .none,
        onProgress: (@Sendable (OperationProgress) -> Void)? = nil
    ) {
        self.attempt = attempt
        self.cancellation = cancellation
        self.onProgress = onProgress
    }

    /// The same surroundings for another attempt.
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

/// How far a run is. Counts never go back within an attempt.
public struct OperationProgress: Sendable, Hashable, Codable {
    public var completed: Int64
    /// Nil while the whole is not known.
    public var total: Int64?
    /// What is counted, e.g. `bytes`.
    public var unit: String

    public init(completed: Int64, total: Int64? = nil, unit: String) {
        self.completed = completed
        self.total = total
        self.unit = unit
    }
}

/// A failure that says what happened, by a code that never changes, and whether a retry may help.
public protocol OperationFailure: Error, Codable, Sendable, CustomStringConvertible {
    /// Stable, snake_case; documented with what to do about it.
    var code: String { get }
    /// Whether the same work may succeed when tried again.
    var isRetryable: Bool { get }
    /// The wait that the other side asked for, if it did.
    var retryAfter: Duration? { get }
}

extension OperationFailure {
    public var retryAfter: Duration? { nil }
}
