import OperationTypes
import Synchronization

/// Counts from one.
package final class Counter: Sendable {
    private let value = Mutex(0)

    package init() {}

    package func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}

/// A signal that tests await in place of waiting some time.
package typealias Signal = Latch<Void>
