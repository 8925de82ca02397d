import Foundation
import OperationTypes
import Synchronization

/// An ``AsyncOperation`` that ends with a result.
///
/// The first call of ``finish(with:)`` or ``cancel(with:)`` decides the result, which then never changes. The result is
/// available before `isFinished` is true. A cancelled operation still has to finish, and keeps the result of the
/// cancellation.
///
/// SAFETY: This class adds only a mutex.
open class AsyncResultOperation<Success: Sendable, Failure: Error>: AsyncOperation, @unchecked Sendable {
    /// A value or the operation's typed failure.
    public typealias Outcome = Result<Success, Failure>

    private struct State: Sendable {
        var result: Outcome?
        /// Whether a cancellation decided the result. Foundation may not have been notified of it yet.
        var isCancellation = false
        /// Whether results are no longer accepted, because the operation was finished without one.
        var isClosed = false
        var onResult: (@Sendable (Outcome) -> Void)?
        var listeners: [@Sendable (Outcome) -> Void] = []

        /// Removes the closures that wait for the result.
        mutating func takeListeners() -> [@Sendable (Outcome) -> Void] {
            defer {
                onResult = nil
                listeners = []
            }
            return (onResult.map { [$0] } ?? []) + listeners
        }
    }

    private let state = Mutex(State())

    /// The result. Nil until it is decided, and for an operation that was finished or cancelled without a result.
    public final var result: Outcome? { state.withLock { $0.result } }

    /// Whether the operation was cancelled. True as soon as a cancellation has decided the result.
    open override var isCancelled: Bool { state.withLock { $0.isCancellation } || super.isCancelled }

    /// A closure that is called once with the result, on the thread that decides it, or at once if the result is
    /// already decided. It is then released.
    public final var onResult: (@Sendable (Outcome) -> Void)? {
        get { state.withLock { $0.onResult } }
        set {
            let result = state.withLock { state in
                if state.result == nil, !state.isClosed { state.onResult = newValue }
                return state.result
            }
            if let result { newValue?(result) }
        }
    }

    /// Ends the operation with `result`, or with the result that was decided before.
    public final func finish(with result: Outcome) {
        decide(result, isCancellation: false)
        finish()
    }

    /// Ends the operation. If no result has been decided, the operation ends without one.
    public final override func finish() {
        close()
        super.finish()
    }

    /// Closes the operation to further results, and releases closures that still wait for one.
    final override func close() {
        let unheard = state.withLock { state in
            state.isClosed = true
            return state.takeListeners()
        }
        withExtendedLifetime(unheard) {}
    }

    /// Cancels the operation with `failure` as its result. If the result is already decided, nothing changes.
    public final func cancel(with failure: Failure) {
        guard decide(.failure(failure), isCancellation: true) || state.withLock({ $0.isCancellation }) else { return }
        super.cancel()
    }

    /// Cancels the operation with ``cancellationFailure`` as its result. If that failure is nil, ``finish(with:)`` may
    /// still decide the result.
    ///
    /// A subclass that overrides this to stop its work must call `super.cancel()` or ``cancel(with:)`` at the end.
    open override func cancel() {
        if let failure = cancellationFailure {
            cancel(with: failure)
        } else if result == nil {
            super.cancel()
        }
    }

    /// The failure with which ``cancel()`` decides the result. Default: `cancelled` for a `CancellationFailure`,
    /// `CancellationError` if `Failure` is `any Error`, otherwise nil. If it is nil, an operation that is cancelled
    /// before its start ends without a result.
    open var cancellationFailure: Failure? { OperationTypes.cancellationFailure() }

    /// Calls `body` once with the result, on the thread that decides it, or now if it is already decided.
    final func whenDecided(_ body: @escaping @Sendable (Outcome) -> Void) {
        let result = state.withLock { state in
            if state.result == nil, !state.isClosed { state.listeners.append(body) }
            return state.result
        }
        if let result { body(result) }
    }

    @discardableResult
    private func decide(_ result: Outcome, isCancellation: Bool) -> Bool {
        let listeners = state.withLock { state -> [@Sendable (Outcome) -> Void]? in
            guard state.result == nil, !state.isClosed else { return nil }
            state.result = result
            state.isCancellation = isCancellation
            return state.takeListeners()
        }
        guard let listeners else { return false }
        for listener in listeners { listener(result) }
        return true
    }
}

/// An operation whose output may be the input of an operation that depends on it.
public protocol ChainedOperationOutputProviding {
    /// The value, if the operation succeeded; otherwise nil.
    var output: Any? { get }
    /// The reason why there is no value, if the operation failed or was cancelled; otherwise nil.
    var outputFailure: (any Error)? { get }
}

extension ChainedOperationOutputProviding {
    /// Default: nil.
    public var outputFailure: (any Error)? { nil }
}

extension AsyncResultOperation: ChainedOperationOutputProviding {
    /// The value, if the operation succeeded; otherwise nil.
    public var output: Any? {
        if case .success(let value)? = result { value } else { nil }
    }

    /// The failure, if the operation has failed. `CancellationError` if it was cancelled without a result.
    public var outputFailure: (any Error)? {
        if case .failure(let error)? = result { return error }
        return result == nil && isCancelled ? CancellationError() : nil
    }
}
