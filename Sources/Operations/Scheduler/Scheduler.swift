import Dispatch
import Synchronization

/// Runs `work` exactly once, inline or later on any thread. It may be called from any thread.
public typealias ScheduleWork = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

/// Where the callbacks of a ``Future`` run.
public enum Scheduler {
    /// Used by ``Future/on(success:failure:completion:)`` where no other was set; read when the callback is attached.
    /// Initially ``main``. Transformations do not use it.
    ///
    /// A program without a main loop sets this to ``immediate`` or a queue before it attaches a callback.
    public static var `default`: ScheduleWork {
        get { chosen.schedule ?? main }
        set {
            choice.withLock {
                $0 = Choice(turn: $0.turn + 1, schedule: newValue)
                currentTurn.store($0.turn, ordering: .releasing)
            }
        }
    }

    /// Runs inline on the main thread, and from any other thread asynchronously on the main queue.
    public static var main: ScheduleWork {
        { work in
            if MainThread.isCurrent { work() } else { MainInbox.post(work) }
        }
    }

    /// Runs inline, always.
    public static var immediate: ScheduleWork { { work in work() } }

    /// Runs asynchronously on `queue`, always.
    public static func async(on queue: DispatchQueue, flags: DispatchWorkItemFlags = []) -> ScheduleWork {
        if flags.isEmpty, MainThread.isServed(by: queue) { return MainInbox.post }
        // The flags themselves are not declared Sendable.
        let flags = flags.rawValue
        return { work in queue.async(flags: DispatchWorkItemFlags(rawValue: flags), execute: work) }
    }
}

extension Scheduler {
    /// The default scheduler. Callbacks of equal turn share one and are delivered in the order they were attached.
    @frozen
    @usableFromInline
    struct Choice: Sendable {
        /// 0 until somebody sets a default: the main scheduler, which needs no closure.
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

    /// Whether the default scheduler would run work inline on this thread, known without asking it.
    @inlinable static var isInlineHere: Bool {
        currentTurn.load(ordering: .acquiring) == 0 && MainThread.isCurrent
    }
}
