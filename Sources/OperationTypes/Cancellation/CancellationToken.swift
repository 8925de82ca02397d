import Synchronization

/// A one-way switch that asks work to stop, and the handle to throw it.
///
/// Every token of a source shares its state. Cancelling is idempotent and safe from any thread. A registered closure runs
/// exactly once, in registration order, on the thread that cancels; nothing is retained once it ran.
public struct CancellationTokenSource: Sendable {
    let state = CancellationState()

    public init() {}

    /// Whether ``cancel()`` has been called.
    public var isCancelling: Bool { state.isCancelling }

    public var token: CancellationToken { CancellationToken(state: state) }

    /// Runs every registered closure on this thread. When it returns, they have all run.
    public func cancel() { state.cancel() }
}

/// What an operation looks at, or listens to, to learn that it should stop.
public struct CancellationToken: Sendable {
    let state: CancellationState?

    /// A token that never cancels and drops what is registered with it.
    public static var none: CancellationToken { CancellationToken(state: nil) }

    public var isCancelling: Bool { state?.isCancelling ?? false }

    /// Runs `closure` once when the token cancels; synchronously, before this returns, if it already has.
    ///
    /// - Returns: A handle that takes the registration back. Ignoring it keeps the closure until cancellation.
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

    /// Forgets the closure. It may still be running on another thread when this returns.
    public func unregister() { state?.unregister(id) }
}

final class CancellationState: Sendable {
    private struct Registrations {
        var isCancelling = false
        var nextID: UInt64 = 1
        var closures: [(id: UInt64, run: @Sendable () -> Void)] = []
    }

    private let registrations = Mutex(Registrations())

    var isCancelling: Bool { registrations.withLock { $0.isCancelling } }

    func register(_ closure: @escaping @Sendable () -> Void) -> UInt64 {
        let id = registrations.withLock { state -> UInt64? in
            if state.isCancelling { return nil }
            defer { state.nextID += 1 }
            state.closures.append((state.nextID, closure))
            return state.nextID
        }
        if let id { return id }
        closure()
        return 0
    }

    func unregister(_ id: UInt64) {
        registrations.withLock { state in
            state.closures.removeAll { $0.id == id }
        }
    }

    func cancel() {
        let closures = registrations.withLock { state in
            state.isCancelling = true
            defer { state.closures = [] }
            return state.closures
        }
        for closure in closures { closure.run() }
    }
}
