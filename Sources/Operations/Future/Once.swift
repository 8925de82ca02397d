import Synchronization

/// A closure for the first that takes it.
final class Once<Closure: Sendable>: Sendable {
    private let closure: Mutex<Closure?>

    init(_ closure: Closure) { self.closure = Mutex(closure) }

    func take() -> Closure? { closure.withLock { $0.take() } }
}
