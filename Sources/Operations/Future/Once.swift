import OperationTypes
import Synchronization

/// A closure for whoever comes first.
final class Once<Closure>: Sendable {
    private let closure: Mutex<Handoff<Closure>?>

    init(_ closure: Closure) { self.closure = Mutex(Handoff(closure)) }

    func take() -> Closure? { closure.withLock { $0.take() }?.value }
}
