import Synchronization

/// A closure that can be taken once.
final class Once<Closure: Sendable>: Sendable {
    private let closure: Mutex<Closure?>

    init(_ closure: Closure) { self.closure = Mutex(closure) }

    func take() -> Closure? { closure.withLock { $0.take() } }
}
