import Synchronization

/// The sender of a cancellation. Work receives its ``token`` and stops when the source cancels.
///
/// All tokens of a source share its state. Cancelling is idempotent and safe from any thread. Registered closures run
/// exactly once, in the order of registration, on the thread that cancels, and are released right after. If the last
/// copy of the source is released before it has cancelled, nothing can cancel its tokens any more, and the closures are
/// released without being run.
public struct CancellationTokenSource: Sendable {
    private let owner = Owner()

    /// Creates a source that has not cancelled.
    public init() {}

    /// A source that cancels as soon as one of `tokens` cancels, or at once if one already has. It can still be
    /// cancelled directly. After its last copy is released, the tokens keep no reference to it.
    public init(linkedTo tokens: CancellationToken...) {
        let state = owner.state
        owner.link(tokens.map { token in token.register { state.cancel() } })
    }

    /// Whether ``cancel()`` has been called.
    public var isCancelling: Bool { owner.state.isCancelling }

    /// A token that cancels when this source does.
    public var token: CancellationToken { CancellationToken(state: owner.state) }

    /// Cancels all tokens, and runs every registered closure on this thread before it returns. If another thread is
    /// already cancelling, it returns without waiting. A closure may cancel another source; if such calls nest more
    /// than 64 deep, the innermost closures run just before the outermost `cancel()` returns.
    public func cancel() { owner.state.cancel() }

    /// The owner of the state. Tokens hold only the state, so that a token cannot keep closures alive that nothing can
    /// run any more.
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

/// The receiver of a cancellation: work checks the token, or registers a closure with it, to learn that it should stop.
public struct CancellationToken: Sendable {
    let state: CancellationState?

    /// A token that never cancels. It drops closures that are registered with it.
    public static var none: CancellationToken { CancellationToken(state: nil) }

    /// Whether the token has cancelled.
    public var isCancelling: Bool { state?.isCancelling ?? false }

    /// Whether the token belongs to a source. False only for ``none``, which never cancels.
    public var canCancel: Bool { state != nil }

    /// Suspends the task until the token cancels. Returns at once if it already has.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func cancelled() async throws(CancellationError) {
        let waiter = Waiter<Void>()
        let registration = register { waiter.end(with: ()) }
        defer { registration.unregister() }
        if await waiter.outcome() == nil { throw CancellationError() }
    }

    /// Runs `closure` once when the token cancels. If the token has already cancelled, runs it before this returns.
    ///
    /// The closure runs on the thread that cancels. To use an actor's state, it must switch to that actor itself.
    ///
    /// - Returns: A handle that removes the registration. If it is ignored, the closure is kept until the token
    ///   cancels.
    @discardableResult
    public func register(_ closure: @escaping @Sendable () -> Void) -> CancellationRegistration {
        guard let state else { return CancellationRegistration(state: nil, id: 0) }
        return CancellationRegistration(state: state, id: state.register(closure))
    }
}

/// The registration of a closure, which can be removed.
public struct CancellationRegistration: Sendable {
    let state: CancellationState?
    let id: UInt64

    /// Removes the closure. If it has not begun to run, it never will. It may still be running on another thread when
    /// this returns.
    public func unregister() { state?.unregister(id) }
}
