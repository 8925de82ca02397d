import Synchronization

/// A one-way switch that asks work to stop, and the handle to throw it.
///
/// Every token of a source shares its state. Cancelling is idempotent and safe from any thread. A registered closure runs
/// exactly once, in registration order, on the thread that cancels, and is released right after. When the last copy of the
/// source is gone without having cancelled, nothing can cancel its tokens any more and the closures are released unrun.
public struct CancellationTokenSource: Sendable {
    private let owner = Owner()

    public init() {}

    /// A source that cancels as soon as one of `tokens` cancels, or at once if one already has. It can still be
    /// cancelled directly. After its last copy is released, the tokens keep no reference to it.
    public init(linkedTo tokens: CancellationToken...) {
        let state = owner.state
        owner.link(tokens.map { token in token.register { state.cancel() } })
    }

    /// Whether ``cancel()`` has been called.
    public var isCancelling: Bool { owner.state.isCancelling }

    public var token: CancellationToken { CancellationToken(state: owner.state) }

    /// Runs every registered closure on this thread before it returns. If another thread is already cancelling, it
    /// returns without waiting. A closure may cancel another source; if such calls nest more than 64 deep, the
    /// innermost closures run just before the outermost `cancel()` returns.
    public func cancel() { owner.state.cancel() }

    /// Tokens hold the state, not the owner, so that a token cannot keep closures that nobody can run.
    private final class Owner: Sendable {
        let state = CancellationState()
        private let links = Mutex<[CancellationRegistration]>([])

        func link(_ registrations: [CancellationRegistration]) { links.withLock { $0 = registrations } }

        deinit {
            for link in links.withLock({ $0 }) { link.unregister() }
            state.abandon()
        }
    }
}

/// What an operation looks at, or listens to, to learn that it should stop.
public struct CancellationToken: Sendable {
    let state: CancellationState?

    /// A token that never cancels and drops what is registered with it.
    public static var none: CancellationToken { CancellationToken(state: nil) }

    public var isCancelling: Bool { state?.isCancelling ?? false }

    /// Whether the token can be told apart from ``none``, that is, whether anything may ever cancel it.
    public var canCancel: Bool { state != nil }

    /// Suspends the task until the token cancels; returns at once if it has.
    ///
    /// - Throws: When the task is cancelled first.
    public func cancelled() async throws(CancellationError) {
        let waiter = Waiter<Void>()
        let registration = register { waiter.end(with: ()) }
        defer { registration.unregister() }
        if await waiter.outcome() == nil { throw CancellationError() }
    }

    /// Runs `closure` once when the token cancels; synchronously, before this returns, if it already has.
    ///
    /// The closure runs on the thread that cancels. To use an actor's state, it must switch to that actor itself.
    ///
    /// - Returns: A handle that removes the registration. Ignoring it keeps the closure until cancellation.
    @discardableResult
    public func register(_ closure: @escaping @Sendable () -> Void) -> CancellationRegistration {
        guard let state else { return CancellationRegistration(state: nil, id: 0) }
        return CancellationRegistration(state: state, id: state.register(closure))
    }
}

/// A registration that can be taken back.
public struct CancellationRegistration: Sendable {
    let state: CancellationState?
    let id: UInt64

    /// Forgets the closure: unless it has begun to run, it never will. It may be running on another thread when this returns.
    public func unregister() { state?.unregister(id) }
}
