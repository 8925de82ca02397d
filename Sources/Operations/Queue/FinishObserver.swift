import Foundation
import Synchronization

/// Learns that an operation has finished, from Foundation itself, whatever becomes of the operation's completion block.
///
/// It is an operation that depends on the other one and that nobody starts: Foundation asks whether it is ready when the other
/// one has finished.
///
/// SAFETY: What this class adds is a mutex and a reference to one.
final class FinishObserver: Operation, @unchecked Sendable {
    private struct State {
        var body: (@Sendable () -> Void)?
        /// Itself until it has learnt of the finish: Foundation keeps no reference to operations that depend on others.
        var hold: FinishObserver?
    }

    private let state: Mutex<State>

    private init(_ body: @escaping @Sendable () -> Void) {
        state = Mutex(State(body: body))
        super.init()
    }

    /// Calls `body` once, when `operation` has finished; now, if it has.
    static func observe(_ operation: Operation, _ body: @escaping @Sendable () -> Void) {
        #if canImport(Darwin)
            let observation = Mutex<NSKeyValueObservation?>(nil)
            let once = Once(body)
            let new = operation.observe(\.isFinished) { operation, _ in
                guard operation.isFinished else { return }
                observation.withLock { $0 = nil }
                once.take()?()
            }
            observation.withLock { $0 = new }
            if operation.isFinished { once.take()?() }
        #else
            let observer = FinishObserver(body)
            observer.state.withLock { $0.hold = observer }
            observer.addDependency(operation)
            if operation.isFinished { observer.fire() }
        #endif
    }

    override var isReady: Bool {
        let isReady = super.isReady
        // An initializer of Foundation's asks as well, before there are dependencies.
        if isReady, !dependencies.isEmpty { fire() }
        return isReady
    }

    private func fire() {
        let (body, hold) = state.withLock { state in (state.body.take(), state.hold.take()) }
        body?()
        withExtendedLifetime(hold) {}
    }
}
