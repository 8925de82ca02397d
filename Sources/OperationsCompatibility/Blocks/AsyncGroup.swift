import Dispatch
import Operations
import Synchronization

/// Waits for a group of blocks on queues of different quality of service.
public struct AsyncGroup: Sendable {
    private let group = DispatchGroup()

    /// Creates an empty group.
    public init() {}

    /// Adds one to the number of calls of ``leave()`` that ``wait(seconds:)`` waits for.
    public func enter() { group.enter() }

    /// Balances an ``enter()``.
    ///
    /// - Precondition: There is an ``enter()`` to balance.
    public func leave() { group.leave() }

    /// Adds a block on the main queue.
    public func main(_ block: @escaping @Sendable () -> Void) { add(.main, block) }
    /// Adds a block on a global queue, with the quality of service `userInteractive`.
    public func userInteractive(_ block: @escaping @Sendable () -> Void) { add(.shared(.userInteractive), block) }
    /// Adds a block on a global queue, with the quality of service `userInitiated`.
    public func userInitiated(_ block: @escaping @Sendable () -> Void) { add(.shared(.userInitiated), block) }
    /// Adds a block on a global queue, with the quality of service `utility`.
    public func utility(_ block: @escaping @Sendable () -> Void) { add(.shared(.utility), block) }
    /// Adds a block on a global queue, with the quality of service `background`.
    public func background(_ block: @escaping @Sendable () -> Void) { add(.shared(.background), block) }
    /// Adds a block on `queue`.
    public func custom(queue: DispatchQueue, block: @escaping @Sendable () -> Void) { add(.custom(queue), block) }

    /// Blocks this thread until every block has run and every ``enter()`` is balanced. While the main thread waits, it
    /// runs the work that is scheduled for it.
    ///
    /// - Parameter seconds: The timeout; nil waits forever.
    /// - Returns: `.timedOut` if blocks or calls of ``enter()`` remain after that time.
    @discardableResult
    public func wait(seconds: Double? = nil) -> DispatchTimeoutResult {
        let deadline = seconds.map { DispatchTime.now() + max($0, 0) } ?? .distantFuture
        guard MainThread.isCurrent else { return group.wait(timeout: deadline) }
        let signal = DispatchSemaphore(value: 0)
        let isEmpty = Atomic(false)
        group.notify(queue: .global()) {
            isEmpty.store(true, ordering: .releasing)
            signal.signal()
        }
        return MainInbox.wait(for: signal, deadline: deadline) {
            isEmpty.load(ordering: .acquiring) ? DispatchTimeoutResult.success : nil
        } ?? .timedOut
    }

    private func add(_ target: TargetQueue, _ block: @escaping @Sendable () -> Void) {
        let qos = target.qos
        group.enter()
        target.run(
            after: nil,
            { [group] in
                RequestedQoS.with(qos, block)
                group.leave()
            })
    }
}
