import Synchronization

/// Holds a closure until it is taken out, which is possible only once.
final class Once<Closure: Sendable>: Sendable {
    private let closure: Mutex<Closure?>

    init(_ closure: Closure) { self.closure = Mutex(closure) }

    func take() -> Closure? { closure.withLock { $0.take() } }
}
