import OperationTypes

/// The writing end of a ``Future``.
public typealias Promise<Value: Sendable, Error: Swift.Error> = Future<Value, Error>.Promise

extension Future {
    /// The writing end of a future: resolves it, once, from any thread.
    ///
    /// The first call of `succeed`, `fail` or `resolve` takes effect, later calls do nothing. No lock is held while
    /// handlers run, so a handler may use the promise and its futures. Each handler is released right after it has run.
    ///
    /// A promise that is released unresolved leaves its future pending and releases the closures that wait for it. A
    /// task that waits in ``Future/get()``, or a thread in ``Future/wait()``, cannot be resumed; a message about the
    /// leak is printed on standard error.
    public final class Promise: Sendable, CustomDebugStringConvertible {
        @usableFromInline let settlement: Settlement<Value, Error>

        /// A promise whose future is pending.
        @inlinable
        public init() { settlement = Settlement() }

        @inlinable
        deinit { settlement.resolverGone() }

        /// The future that this promise resolves.
        @inlinable
        public var future: Future { Future(settlement) }

        /// Resolves the future with `value`; see ``resolve(result:)``.
        @inlinable
        public func succeed(value: Value) { resolve(result: .success(value)) }

        /// Resolves the future with `error`; see ``resolve(result:)``.
        @inlinable
        public func fail(error: Error) { resolve(result: .failure(error)) }

        /// Resolves the future and runs the closures that wait for it: transformations now, on this thread, and
        /// callbacks through their scheduler. Does nothing if the future is already resolved.
        @inlinable
        public func resolve(result: Result) { settlement.resolve(result) }

        public var debugDescription: String {
            "Promise<\(Value.self), \(Error.self)> { \(settlement.stateDescription) }"
        }
    }
}
