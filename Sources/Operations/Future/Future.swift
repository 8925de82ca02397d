import Dispatch
import OperationTypes

/// The result of work that may still be under way: a value or a typed error, once, for ever.
///
/// A future of a known result is that result and allocates nothing. One of a ``Promise`` shares the promise's state, keeps
/// it alive, and is resolved with it; if the promise is dropped first, the future stays pending and runs nothing.
///
/// Callbacks (``on(success:failure:completion:)``) run through the default scheduler, transformations on the thread that
/// resolves. After `observe(on:)` both run where it says.
@frozen
public struct Future<Value, Error: Swift.Error> {
    public typealias Result = Swift.Result<Value, Error>

    @frozen
    @usableFromInline
    enum Source {
        case known(Result)
        case promised(Promise)
    }

    @usableFromInline let source: Source
    /// Set by `observe(on:)`.
    @usableFromInline let scheduler: Handoff<ScheduleWork>?

    @inlinable
    init(_ source: Source, scheduler: Handoff<ScheduleWork>? = nil) {
        self.source = source
        self.scheduler = scheduler
    }

    @inlinable
    init(_ promise: Promise) {
        self.init(promise.settled.map(Source.known) ?? .promised(promise))
    }
}

extension Future: Sendable where Value: Sendable {}
extension Future.Source: Sendable where Value: Sendable {}

extension Future {
    /// Runs `closure` once, now, on this thread, with the promise that resolves the future.
    @inlinable
    public init(_ closure: (Promise) -> Void) {
        let promise = Promise()
        closure(promise)
        self.init(promise)
    }

    @inlinable
    public init(value: Value) { self.init(.known(.success(value))) }

    @inlinable
    public init(error: Error) { self.init(.known(.failure(error))) }

    @inlinable
    public init(result: Result) { self.init(.known(result)) }
}

extension Future where Error == Never {
    @inlinable
    public init(value: Value) { self.init(.known(.success(value))) }
}

extension Future where Error == any Swift.Error {
    /// Runs `closure` once, now, on this thread; what it throws is the failure.
    @inlinable
    public init(catching closure: () throws -> Value) { self.init(.known(Result(catching: closure))) }
}

extension Future {
    /// The value, once resolved with one.
    @inlinable
    public var value: Value? {
        if case .success(let value)? = result { value } else { nil }
    }

    /// The error, once resolved with one.
    @inlinable
    public var error: Error? {
        if case .failure(let error)? = result { error } else { nil }
    }

    /// The result, once there is one. It is visible before any callback runs.
    @inlinable
    public var result: Result? {
        switch source {
        case .known(let result): result
        case .promised(let promise): promise.result
        }
    }
}

extension Future {
    /// The same future, whose callbacks and transformations run on `queue`, always asynchronously. Futures derived from
    /// those are back to the default.
    public func observe(on queue: DispatchQueue) -> Future {
        observe(on: Scheduler.async(on: queue))
    }

    /// The same future, whose callbacks and transformations run through `scheduler`. Futures derived from those are back to
    /// the default.
    @inlinable
    public func observe(on scheduler: @escaping ScheduleWork) -> Future {
        Future(source, scheduler: Handoff(scheduler))
    }
}
