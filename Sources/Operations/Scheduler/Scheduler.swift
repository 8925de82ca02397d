import Dispatch
import Synchronization

/// A function that runs `work` exactly once, inline or later on any thread. It may be called from any thread.
public typealias ScheduleWork = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

/// The schedulers on which callbacks of a ``Future`` can run.
public enum Scheduler {
    /// The scheduler for the callbacks of ``Future/on(success:failure:completion:)`` without `observe(on:)`. It is read
    /// when a callback is attached. Default: ``main``. Transformations do not use it.
    ///
    /// A program without a main loop must set this to ``immediate`` or to a queue before it attaches a callback.
    public static var `default`: ScheduleWork {
        get { chosen.schedule ?? main }
        set {
            choice.withLock {
                $0 = Choice(turn: $0.turn + 1, schedule: newValue)
                currentTurn.store($0.turn, ordering: .releasing)
            }
        }
    }

    /// Runs work inline on the main thread, and from any other thread asynchronously on the main queue.
    public static var main: ScheduleWork {
        { work in
            if MainThread.isCurrent { work() } else { MainInbox.post(work) }
        }
    }

    /// Always runs work inline.
    public static var immediate: ScheduleWork { { work in work() } }

    /// Always runs work asynchronously on `queue`.
    public static func async(on queue: DispatchQueue, flags: DispatchWorkItemFlags = []) -> ScheduleWork {
        if flags.isEmpty, MainThread.isServed(by: queue) { return MainInbox.post }
        // The flags themselves are not declared Sendable.
        let flags = flags.rawValue
        return { work in queue.async(flags: DispatchWorkItemFlags(rawValue: flags), execute: work) }
    }
}

extension Scheduler {
    /// The default scheduler at one time. Callbacks with the same turn share a scheduler, and are delivered in the
    /// order in which they were attached.
    @frozen
    @usableFromInline
    struct Choice: Sendable {
        /// The number of times that the default was set. 0 means the main scheduler, which needs no closure.
        @usableFromInline let turn: Int
        @usableFromInline let schedule: ScheduleWork?
    }

    private static let choice = Mutex(Choice(turn: 0, schedule: nil))
    /// The turn of ``choice``, readable without its lock.
    @usableFromInline static let currentTurn = Atomic(0)

    @usableFromInline static var chosen: Choice {
        if currentTurn.load(ordering: .acquiring) == 0 { return Choice(turn: 0, schedule: nil) }
        return choice.withLock { $0 }
    }

    /// Whether the default scheduler is known, without calling it, to run work inline on this thread.
    @inlinable static var isInlineHere: Bool {
        currentTurn.load(ordering: .acquiring) == 0 && MainThread.isCurrent
    }
}
