import Jobs
import Synchronization

/// The observers of commits, and the store's condition. Observers are notified when the condition changes.
package final class Observers: Sendable {
    package typealias Observer = @Sendable (StoreChange) -> Void

    private struct State {
        var next = 0
        var observers: [(id: Int, call: Observer)] = []
        var condition = StoreCondition()
    }

    private let state = Mutex(State())

    package init() {}

    package var isEmpty: Bool { state.withLock { $0.observers.isEmpty } }

    package var condition: StoreCondition { state.withLock(\.condition) }

    /// Changes the condition, and notifies the observers if it differs.
    package func update(_ change: (inout StoreCondition) -> Void) {
        let hasChanged = state.withLock { state in
            let before = state.condition
            change(&state.condition)
            return state.condition != before
        }
        if hasChanged { tell([.condition]) }
    }

    package func add(_ observer: @escaping Observer) -> StoreObservation {
        let id = state.withLock { state in
            state.next += 1
            state.observers.append((state.next, observer))
            return state.next
        }
        return StoreObservation { [weak self] in
            self?.state.withLock { state in state.observers.removeAll { $0.id == id } }
        }
    }

    /// Notifies the observers of each change. Calls them outside the lock, so that an observer may end its own
    /// observation.
    package func tell(_ changes: [StoreChange]) {
        if changes.isEmpty { return }
        let observers = state.withLock { $0.observers }
        for change in changes {
            for observer in observers { observer.call(change) }
        }
    }
}
