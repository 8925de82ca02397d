/// The checkpoints of one attempt that are not durable yet. It turns events into actions, without I/O.
///
/// - Q1: At most one value is being saved, so an older value never replaces a newer one.
/// - Q2: Of the values behind it only the newest waits. A value that a newer one replaced counts as saved when the newer
///   one is.
/// - Q3: Each waiter is returned exactly once, unless its value was refused.
/// - Q4: After ``close()``, values are refused.
package struct SaveQueue<Waiter> {
    /// The next step for a new value.
    package enum Step: Equatable {
        /// Save this value now, and report the answer with ``answered()``.
        case save(JSONText)
        /// Another value is being saved. The answer to the new one follows later.
        case wait
        /// The queue is closed. The waiter is not kept.
        case refuse
    }

    private var saving: [Waiter]?
    private var next: (value: JSONText, waiters: [Waiter])?
    private var isClosed = false

    /// Creates an empty queue.
    package init() {}

    /// Whether nothing is being saved and nothing waits.
    package var isIdle: Bool { saving == nil }

    /// Adds a value and the caller who waits until it is saved.
    package mutating func add(_ value: JSONText, _ waiter: Waiter) -> Step {
        if isClosed { return .refuse }
        guard saving == nil else {
            // The waiters stay where they are, since there may be very many.
            next?.value = value
            next?.waiters.append(waiter)
            if next == nil { next = (value, [waiter]) }
            return .wait
        }
        saving = [waiter]
        return .save(value)
    }

    /// The value that was being saved is durable, or was refused.
    ///
    /// - Returns: Its waiters, and the value to save now; nil if none waits.
    package mutating func answered() -> (waiters: [Waiter], next: JSONText?) {
        defer {
            saving = next?.waiters
            next = nil
        }
        return (saving ?? [], next?.value)
    }

    /// Refuses all later values.
    package mutating func close() { isClosed = true }

    /// Refuses all later values, and drops the value that waits.
    ///
    /// - Returns: The dropped value and its waiters; nil if none waited.
    package mutating func closeAndDropWaiting() -> (value: JSONText, waiters: [Waiter])? {
        isClosed = true
        return next.take()
    }
}

extension SaveQueue: Sendable where Waiter: Sendable {}
