import Dispatch
import OperationTypes

/// The result of work that may still be in progress: a value or a typed error, which never changes once it is known.
///
/// A future of a known result stores only that result and allocates nothing. Other futures get their result from a
/// ``Promise``. If the promise is released unresolved, the future stays pending, and attached closures are released
/// without being called.
///
/// Callbacks (``on(success:failure:completion:)``) run through the default scheduler, and transformations run on the
/// thread that resolves the promise. After `observe(on:)` both run through its scheduler. Futures may be used from any
/// thread, so values are `Sendable` and closures `@Sendable`.
///
/// Closures may attach to futures and resolve promises. If such calls nest more than 64 deep, the innermost closures
/// run just before the outermost call on the thread returns.
@frozen
public struct Future<Value: Sendable, Error: Swift.Error>: Sendable {
    /// A value or the future's typed error.
    public typealias Result = Swift.Result<Value, Error>

    @frozen
    @usableFromInline
    enum Source: Sendable {
        case known(Result)
        case shared(Settlement<Value, Error>)
    }

    @usableFromInline let source: Source
    /// Set by `observe(on:)`.
    @usableFromInline let executor: CallbackExecutor?

    @inlinable
    init(_ source: Source, at executor: CallbackExecutor? = nil) {
        self.source = source
        self.executor = executor
    }

    @inlinable
    init(_ settlement: Settlement<Value, Error>) {
        self.init(settlement.settled.map(Source.known) ?? .shared(settlement))
    }
}

extension Future {
    /// Creates a future and runs `closure` once, now, on this thread, with the promise that resolves the future.
    @inlinable
    public init(_ closure: (Promise) -> Void) {
        let promise = Promise()
        closure(promise)
        self = promise.future
    }

    /// A future that is resolved with `value`.
    @inlinable
    public init(value: Value) { self.init(.known(.success(value))) }

    /// A future that is resolved with `error`.
    @inlinable
    public init(error: Error) { self.init(.known(.failure(error))) }

    /// A future that is resolved with `result`.
    @inlinable
    public init(result: Result) { self.init(.known(result)) }
}

extension Future where Error == Never {
    /// A future that is resolved with `value` and needs no explicit error type.
    @inlinable
    public init(value: Value) { self.init(.known(.success(value))) }
}

extension Future where Error == any Swift.Error {
    /// Runs `closure` once, now, on this thread, and creates a future of its result. An error that it throws becomes
    /// the failure.
    @inlinable
    public init(catching closure: () throws -> Value) { self.init(.known(Result(catching: closure))) }
}

extension Future {
    /// The value; nil while the future is pending, and if it failed.
    @inlinable
    public var value: Value? {
        if case .success(let value)? = result { value } else { nil }
    }

    /// The error; nil while the future is pending, and if it succeeded.
    @inlinable
    public var error: Error? {
        if case .failure(let error)? = result { error } else { nil }
    }

    /// The result; nil while the future is pending. It is visible before any callback runs.
    @inlinable
    public var result: Result? {
        switch source {
        case .known(let result): result
        case .shared(let settlement): settlement.result
        }
    }
}

extension Future {
    /// This future, with callbacks and transformations that run on `queue`, always asynchronously. Futures derived from
    /// the returned one use the default again.
    @inlinable
    public func observe(on queue: DispatchQueue) -> Future { Future(source, at: CallbackExecutor(queue)) }

    /// This future, with callbacks and transformations that run through `scheduler`. Futures derived from the returned
    /// one use the default again.
    @inlinable
    public func observe(on scheduler: @escaping ScheduleWork) -> Future {
        Future(source, at: .scheduler(scheduler))
    }
}
