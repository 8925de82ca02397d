import Dispatch
import OperationTypes

/// Runs the closures of a future after `observe(on:)`.
///
/// A queue is a separate case because the closures of a scheduler for it would cost more than the queue itself.
@frozen
@usableFromInline
enum CallbackExecutor: Sendable {
    case queue(DispatchQueue)
    case scheduler(ScheduleWork)

    @inlinable
    init(_ queue: DispatchQueue) {
        // A main thread that blocks in a wait runs the work in the inbox, but not the blocks of the main queue.
        self = MainThread.isServed(by: queue) ? .scheduler(MainInbox.post) : .queue(queue)
    }

    @inlinable
    func schedule(_ work: @escaping @Sendable () -> Void) {
        switch self {
        case .queue(let queue): queue.async(execute: work)
        case .scheduler(let schedule): schedule(work)
        }
    }

    /// Schedules `work`. An inline scheduler runs it now or, if calls are nested too deep, before the outermost call on
    /// this thread returns.
    @inlinable
    func scheduleNested(_ work: @escaping @Sendable () -> Void) {
        switch self {
        case .queue(let queue): queue.async(execute: work)
        case .scheduler(let schedule):
            if Nesting.enter() {
                schedule(work)
                Nesting.leave()
            } else {
                Nesting.postpone { schedule(work) }
            }
        }
    }
}
