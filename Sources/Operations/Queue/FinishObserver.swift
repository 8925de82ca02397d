import Dispatch
import Foundation
import Synchronization

/// Observes through Foundation that an operation has finished, independently of the operation's completion block.
///
/// On Linux the observer is an operation that depends on the observed one and is never started: when the observed
/// operation has finished, Foundation asks whether the observer is ready.
///
/// SAFETY: This class adds only a mutex and a reference to one.
final class FinishObserver: Operation, @unchecked Sendable {
    private struct State {
        var body: (@Sendable () -> Void)?
        /// A reference to the observer itself until Foundation has reported the finish, since Foundation keeps an
        /// unretained pointer to the observer until then.
        var hold: FinishObserver?
    }

    private let state: Mutex<State>

    private init(_ body: @escaping @Sendable () -> Void) {
        state = Mutex(State(body: body))
        super.init()
    }

    /// Calls `body` once, on a global queue, when `operation` has finished.
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
            // A subclass may return true for `isFinished` before it notifies Foundation, which still has the pointer.
            if operation.isFinished, let body = observer.state.withLock({ $0.body.take() }) {
                DispatchQueue.global().async(execute: body)
            }
        #endif
    }

    override var isReady: Bool {
        let isReady = super.isReady
        // Foundation's initializer also reads this property, before there are dependencies.
        if isReady, !dependencies.isEmpty {
            let (body, hold) = state.withLock { state in (state.body.take(), state.hold.take()) }
            // The call is asynchronous, since Foundation has not yet notified the other dependents of the observed
            // operation.
            if let body { DispatchQueue.global().async(execute: body) }
            withExtendedLifetime(hold) {}
        }
        return isReady
    }
}
