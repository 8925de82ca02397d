import Foundation
import OperationTypes
import Synchronization

/// An ``AsyncOperation`` that ends with a result.
///
/// The first of ``finish(with:)`` and ``cancel(with:)`` decides the result, for ever, and it is there before `isFinished`
/// is true. One that was cancelled still has to finish, and keeps the result of the cancellation.
///
/// SAFETY: What this class adds is a mutex.
open class AsyncResultOperation<Success: Sendable, Failure: Error>: AsyncOperation, @unchecked Sendable {
    public typealias Outcome = Result<Success, Failure>

    private struct State: Sendable {
        var result: Outcome?
        /// Whether the result is that of a cancellation, which Foundation may not know yet.
        var isCancellation = false
        /// Whether it is too late for a result: the operation was finished without one.
        var isClosed = false
        var onResult: (@Sendable (Outcome) -> Void)?
        var listeners: [@Sendable (Outcome) -> Void] = []
    }

    private let state = Mutex(State())

    /// How it ended, once that is decided; nil for one that was finished, or cancelled, without saying.
    public final var result: Outcome? { state.withLock { $0.result } }

    /// True as soon as a cancellation has decided the result.
    open override var isCancelled: Bool { state.withLock { $0.isCancellation } || super.isCancelled }

    /// Called once with the result, on the thread that decides it, or at once if it is already decided; then released.
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

    /// Ends the operation with `result`, unless that is decided already.
    public final func finish(with result: Outcome) {
        decide(result, isCancellation: false)
        finish()
    }

    /// Ends the operation. If no result has been decided, it has none.
    public final override func finish() {
        close()
        super.finish()
    }

    /// Closes the operation to further results, and releases closures that still wait for one.
    final override func close() {
        let unheard = state.withLock { state in
            defer {
                state.isClosed = true
                state.onResult = nil
                state.listeners = []
            }
            return (state.onResult, state.listeners)
        }
        withExtendedLifetime(unheard) {}
    }

    /// Cancels the operation with `failure` as its result, unless the result is decided: then nothing changes.
    public final func cancel(with failure: Failure) {
        guard decide(.failure(failure), isCancellation: true) || state.withLock({ $0.isCancellation }) else { return }
        super.cancel()
    }

    /// Cancels the operation with ``cancellationFailure`` as its result. Where that is nil the result stays open for
    /// ``finish(with:)``.
    ///
    /// A subclass that overrides this to stop its work ends with a call of `super.cancel()` or ``cancel(with:)``.
    open override func cancel() {
        if let failure = cancellationFailure {
            cancel(with: failure)
        } else if result == nil {
            super.cancel()
        }
    }

    /// The failure that a plain ``cancel()`` means: by default that of a `CancellationFailure`, `CancellationError` where any
    /// error will do, and otherwise nil. Where it is nil, an operation that is cancelled before it starts ends without a
    /// result.
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
        let listeners = state.withLock { state -> ((@Sendable (Outcome) -> Void)?, [@Sendable (Outcome) -> Void])? in
            guard state.result == nil, !state.isClosed else { return nil }
            state.result = result
            state.isCancellation = isCancellation
            defer {
                state.onResult = nil
                state.listeners = []
            }
            return (state.onResult, state.listeners)
        }
        guard let listeners else { return false }
        listeners.0?(result)
        for listener in listeners.1 { listener(result) }
        return true
    }
}

/// What an operation offers to one that depends on it.
public protocol ChainedOperationOutputProviding {
    /// The value, of an operation that succeeded.
    var output: Any? { get }
    /// Why there is no value, of an operation that failed or was cancelled.
    var outputFailure: (any Error)? { get }
}

extension ChainedOperationOutputProviding {
    public var outputFailure: (any Error)? { nil }
}

extension AsyncResultOperation: ChainedOperationOutputProviding {
    public var output: Any? {
        if case .success(let value)? = result { value } else { nil }
    }

    public var outputFailure: (any Error)? {
        if case .failure(let error)? = result { return error }
        return result == nil && isCancelled ? CancellationError() : nil
    }
}
