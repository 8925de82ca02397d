import Dispatch
import OperationTypes
import Synchronization

/// Work that is scheduled for the main thread.
///
/// Each piece of work is stored here, and one block is sent to the main queue, which runs one piece. So the work keeps
/// its order among the other blocks of that queue. A main thread that blocks in ``Future/wait()`` runs the work itself.
/// Otherwise a wait for something that needs the main thread would never end. The blocks then find nothing to run.
@usableFromInline
package enum MainInbox {
    private struct Contents {
        var work = Fifo<@Sendable () -> Void>()
        /// The waits of the main thread, the innermost last.
        var waits: [DispatchSemaphore] = []
    }

    private static let contents = Mutex(Contents())

    /// Schedules work for the main thread.
    @usableFromInline @Sendable
    package static func post(_ work: @escaping @Sendable () -> Void) {
        let wait = contents.withLock { contents in
            contents.work.append(work)
            return contents.waits.last
        }
        wait?.signal()
        DispatchQueue.main.async { runNext() }
    }

    @discardableResult
    private static func runNext() -> Bool {
        guard let next = contents.withLock({ $0.work.popFirst() }) else { return false }
        next()
        return true
    }

    /// Blocks until `outcome` returns a value. The producer of the value must signal `signal`. The main thread runs
    /// posted work in the meantime.
    package static func wait<Outcome>(for signal: DispatchSemaphore, _ outcome: () -> Outcome?) -> Outcome {
        while true {
            if let outcome = wait(for: signal, deadline: .distantFuture, outcome) { return outcome }
        }
    }

    /// Blocks until `outcome` returns a value, or returns nil if the deadline passes first. The producer of the value
    /// must signal `signal`. The main thread runs posted work in the meantime.
    package static func wait<Outcome>(
        for signal: DispatchSemaphore, deadline: DispatchTime, _ outcome: () -> Outcome?
    ) -> Outcome? {
        let isMain = MainThread.isCurrent
        if isMain { contents.withLock { $0.waits.append(signal) } }
        defer { if isMain { contents.withLock { _ = $0.waits.popLast() } } }
        return Nesting.restart {
            while true {
                if let outcome = outcome() { return outcome }
                if isMain, runNext() { continue }
                if signal.wait(timeout: deadline) == .timedOut { return outcome() }
            }
        }
    }
}
