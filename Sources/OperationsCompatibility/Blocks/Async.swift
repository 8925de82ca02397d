import Dispatch

/// Runs blocks one after the other, on queues of different quality of service.
///
/// ```swift
/// Async.userInitiated { try load() }
///     .background { parse($0) }
///     .main { show($0) }
///     .catch { report($0) }
/// ```
public typealias Async = AsyncBlock<Void, Void>

/// A link in a chain of blocks.
///
/// A static call dispatches its block at once. A chained link starts when the previous link has finished, and gets its
/// value. If a link throws, or is cancelled before it has begun, every later link is skipped with the same error, which
/// is `CancellationError` for a cancelled link. Links may be used from any thread.
public struct AsyncBlock<In: Sendable, Out: Sendable>: Sendable {
    @usableFromInline let link: Link<In, Out>

    /// The value of the block once it has finished; nil if it failed, was cancelled or was skipped.
    @inlinable public var output: Out? {
        if case .success(let value)? = link.outcome { value } else { nil }
    }

    /// Prevents the block from running, and releases its captures now. Does nothing if the block has begun.
    @inlinable public func cancel() { link.cancel() }

    /// Blocks this thread until the link has finished: its block has run, or it was cancelled or skipped when its turn
    /// came. May be called repeatedly and from many threads. Does not wait for handlers of ``catch(respondBlock:)``.
    ///
    /// - Parameter seconds: The timeout; nil waits forever.
    /// - Returns: `.timedOut` if the link has not finished in that time.
    @inlinable
    @discardableResult
    public func wait(seconds: Double? = nil) -> DispatchTimeoutResult { link.wait(seconds: seconds) }

    /// Calls `respondBlock` on this link's queue, after the link, if it or an earlier link failed or was cancelled. The
    /// error is not consumed: later links and their handlers receive it, too.
    @inlinable
    @discardableResult
    public func `catch`(respondBlock: @escaping @Sendable (any Error) -> Void) -> AsyncBlock<In, Out> {
        link.catch(respondBlock)
        return self
    }

    @inlinable
    static func begin<O: Sendable>(
        _ target: TargetQueue, _ after: Double?, _ block: @escaping @Sendable () throws -> O
    ) -> AsyncBlock<Void, O> {
        let link = Link<Void, O>(target, after: after, .first(block))
        link.begin()
        return AsyncBlock<Void, O>(link: link)
    }

    @inlinable
    func chain<O: Sendable>(
        _ target: TargetQueue, _ after: Double?, _ block: @escaping @Sendable (Out) throws -> O
    ) -> AsyncBlock<Out, O> {
        let next = Link<Out, O>(target, after: after, .next(block))
        link.follow(next)
        return AsyncBlock<Out, O>(link: next)
    }

    @inlinable
    init(link: Link<In, Out>) { self.link = link }
}

// MARK: - Starting a chain

/// `after` is a delay in seconds on the monotonic clock, which stops while the machine sleeps. Nil and negative values
/// mean no delay.
extension AsyncBlock {
    /// Starts a chain with a block on the main queue.
    @inlinable
    @discardableResult
    public static func main<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable () throws -> O)
        -> AsyncBlock<Void, O>
    {
        begin(.main, after, block)
    }

    /// Starts a chain with a block on a global queue, with the quality of service `userInteractive`.
    @inlinable
    @discardableResult
    public static func userInteractive<O: Sendable>(
        after: Double? = nil, _ block: @escaping @Sendable () throws -> O
    ) -> AsyncBlock<Void, O> {
        begin(.shared(.userInteractive), after, block)
    }

    /// Starts a chain with a block on a global queue, with the quality of service `userInitiated`.
    @inlinable
    @discardableResult
    public static func userInitiated<O: Sendable>(
        after: Double? = nil, _ block: @escaping @Sendable () throws -> O
    ) -> AsyncBlock<Void, O> {
        begin(.shared(.userInitiated), after, block)
    }

    /// Starts a chain with a block on a global queue, with the quality of service `utility`.
    @inlinable
    @discardableResult
    public static func utility<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable () throws -> O)
        -> AsyncBlock<Void, O>
    {
        begin(.shared(.utility), after, block)
    }

    /// Starts a chain with a block on a global queue, with the quality of service `background`.
    @inlinable
    @discardableResult
    public static func background<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable () throws -> O)
        -> AsyncBlock<Void, O>
    {
        begin(.shared(.background), after, block)
    }

    /// Starts a chain with a block on `queue`.
    @inlinable
    @discardableResult
    public static func custom<O: Sendable>(
        queue: DispatchQueue, after: Double? = nil, _ block: @escaping @Sendable () throws -> O
    ) -> AsyncBlock<Void, O> {
        begin(.custom(queue), after, block)
    }
}

// MARK: - Continuing a chain

/// `after` is a delay in seconds from the end of the previous link.
extension AsyncBlock {
    /// Adds a block on the main queue, which gets this link's value.
    @inlinable
    @discardableResult
    public func main<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable (Out) throws -> O) -> AsyncBlock<
        Out, O
    > {
        chain(.main, after, block)
    }

    /// Adds a block on a global queue, with the quality of service `userInteractive`. It gets this link's value.
    @inlinable
    @discardableResult
    public func userInteractive<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable (Out) throws -> O)
        -> AsyncBlock<Out, O>
    {
        chain(.shared(.userInteractive), after, block)
    }

    /// Adds a block on a global queue, with the quality of service `userInitiated`. It gets this link's value.
    @inlinable
    @discardableResult
    public func userInitiated<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable (Out) throws -> O)
        -> AsyncBlock<Out, O>
    {
        chain(.shared(.userInitiated), after, block)
    }

    /// Adds a block on a global queue, with the quality of service `utility`. It gets this link's value.
    @inlinable
    @discardableResult
    public func utility<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable (Out) throws -> O)
        -> AsyncBlock<Out, O>
    {
        chain(.shared(.utility), after, block)
    }

    /// Adds a block on a global queue, with the quality of service `background`. It gets this link's value.
    @inlinable
    @discardableResult
    public func background<O: Sendable>(after: Double? = nil, _ block: @escaping @Sendable (Out) throws -> O)
        -> AsyncBlock<Out, O>
    {
        chain(.shared(.background), after, block)
    }

    /// Adds a block on `queue`, which gets this link's value.
    @inlinable
    @discardableResult
    public func custom<O: Sendable>(
        queue: DispatchQueue, after: Double? = nil, _ block: @escaping @Sendable (Out) throws -> O
    ) -> AsyncBlock<Out, O> {
        chain(.custom(queue), after, block)
    }
}
