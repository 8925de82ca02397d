import OperationTypes

/// A closure that waits for the result of a promise.
///
/// This is one final class with closures instead of a class for each purpose: a closure is compiled for the types of
/// the program that attaches it, but a method that is called through the object is not.
///
/// SAFETY: The variables are accessed only under the lock of the settlement that owns the handler, or, after the
/// settlement has passed the handler on, by the one thread that runs or releases it.
@usableFromInline
final class Handler<Value: Sendable, Failure: Error>: @unchecked Sendable {
    @usableFromInline
    typealias Resolve = @Sendable (Result<Value, Failure>, AnyObject, inout Chain) -> Void

    /// How callbacks reach the thread that runs them.
    @frozen
    @usableFromInline
    enum Delivery: Sendable {
        /// Delivered by the default scheduler, in the order of attachment.
        case inOrder(Scheduler.Choice)
        case at(CallbackExecutor)
    }

    /// Runs on the resolving thread, with the handler's target. A handler has either this closure or callbacks with a
    /// delivery.
    @usableFromInline let resolve: Resolve?
    @usableFromInline let callbacks: Callbacks<Value, Failure>?
    @usableFromInline let delivery: Delivery?
    /// The object that `resolve` resolves.
    @exclusivity(unchecked) @usableFromInline var target: Dependent?
    /// The next handler that waits for the same result.
    @exclusivity(unchecked) @usableFromInline var next: Handler?
    /// The position among the callbacks that are delivered in order, from 1.
    @exclusivity(unchecked) @usableFromInline var number: Int
    /// The callback after this one in that order.
    @exclusivity(unchecked) @usableFromInline var following: Handler?

    @inlinable
    init(target: some PromiseDependent, resolve: @escaping Resolve) {
        self.resolve = resolve
        callbacks = nil
        delivery = nil
        self.target = Dependent(target)
        next = nil
        number = 0
        following = nil
    }

    @inlinable
    init(_ callbacks: Callbacks<Value, Failure>, _ delivery: Delivery) {
        resolve = nil
        self.callbacks = callbacks
        self.delivery = delivery
        target = nil
        next = nil
        number = 0
        following = nil
    }
}

/// The closures of one call of `on`, which run in one unit of work.
@frozen
@usableFromInline
struct Callbacks<Value: Sendable, Failure: Error>: Sendable {
    @usableFromInline let success: (@Sendable (Value) -> Void)?
    @usableFromInline let failure: (@Sendable (Failure) -> Void)?
    @usableFromInline let completion: (@Sendable () -> Void)?

    @inlinable
    init(
        success: (@Sendable (Value) -> Void)?, failure: (@Sendable (Failure) -> Void)?,
        completion: (@Sendable () -> Void)?
    ) {
        self.success = success
        self.failure = failure
        self.completion = completion
    }

    @inlinable
    func run(_ result: Result<Value, Failure>) {
        switch result {
        case .success(let value): success?(value)
        case .failure(let error): failure?(error)
        }
        completion?()
    }

    /// Runs the closures now or, if calls are nested too deep, before the outermost call on this thread returns.
    @inlinable
    func runNested(_ result: Result<Value, Failure>) {
        if Nesting.enter() {
            run(result)
            Nesting.leave()
        } else {
            Nesting.postpone { run(result) }
        }
    }
}

/// A list of handlers, in the order in which they were attached.
@frozen
@usableFromInline
struct HandlerList<Value: Sendable, Failure: Error>: Sendable {
    @usableFromInline var first: Handler<Value, Failure>?
    /// SAFETY: While `first` is not nil, the list owns this handler; it is not read otherwise.
    @usableFromInline unowned(unsafe) var last: Handler<Value, Failure>?

    @inlinable init() {}

    @inlinable var isEmpty: Bool { first == nil }

    @inlinable
    mutating func append(_ handler: Handler<Value, Failure>) {
        if first == nil { first = handler } else { last?.next = handler }
        last = handler
    }

    @inlinable
    mutating func popFirst() -> Handler<Value, Failure>? {
        guard let handler = first.take() else { return nil }
        first = handler.next.take()
        return handler
    }

    var count: Int {
        var count = 0
        var handler = first
        while let current = handler {
            count += 1
            handler = current.next
        }
        return count
    }
}

/// The callbacks of a promise that a default scheduler delivers, in the order in which they were attached.
@frozen
@usableFromInline
struct CallbackQueue<Value: Sendable, Failure: Error>: Sendable {
    @usableFromInline var first: Handler<Value, Failure>?
    @usableFromInline var last: Handler<Value, Failure>?
    @usableFromInline var count = 0

    @inlinable init() {}

    @inlinable var isEmpty: Bool { first == nil }

    @inlinable
    mutating func append(_ handler: Handler<Value, Failure>) {
        count += 1
        handler.number = count
        if let last { last.following = handler } else { first = handler }
        last = handler
    }

    /// Removes and returns the oldest callback of one turn, if its number is at most `limit`.
    @inlinable
    mutating func pop(turn: Int, through limit: Int) -> Handler<Value, Failure>? {
        var before: Handler<Value, Failure>?
        var candidate = first
        while let handler = candidate, handler.number <= limit {
            if case .inOrder(let choice) = handler.delivery, choice.turn == turn {
                let after = handler.following.take()
                if after == nil { last = before }
                if let before { before.following = after } else { first = after }
                return handler
            }
            before = handler
            candidate = handler.following
        }
        return nil
    }

    /// Releases all callbacks one by one, so that releasing a long list does not nest.
    @inlinable
    mutating func removeAll() {
        while let handler = first {
            first = handler.following
            handler.following = nil
        }
        last = nil
    }
}
