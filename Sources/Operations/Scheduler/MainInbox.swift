import Dispatch
import OperationTypes
import Synchronization

/// Work that is scheduled for the main thread.
///
/// Each piece goes in here and sends one block to the main queue, which takes one piece out: the order among the
/// blocks of that queue is kept. A main thread that blocks in ``Future/wait()`` takes the work out itself, so that
/// waiting for something that needs the main thread does not wait for ever; the blocks then find nothing.
@usableFromInline
package enum MainInbox {
    private struct Contents {
        var work: [(@Sendable () -> Void)?] = []
        var taken = 0
        /// The innermost wait of the main thread last.
        var waits: [DispatchSemaphore] = []
    }

    private static let contents = Mutex(Contents())

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
        let next = contents.withLock { contents -> (@Sendable () -> Void)? in
            guard contents.taken < contents.work.count else { return nil }
            let next = contents.work[contents.taken]
            contents.work[contents.taken] = nil
            contents.taken += 1
            if contents.taken == contents.work.count {
                contents.work.removeAll(keepingCapacity: contents.taken < 1024)
                contents.taken = 0
            }
            return next
        }
        guard let next else { return false }
        next()
        return true
    }

    /// Blocks until there is an outcome, for which the producer signals `signal`. On the main thread it runs posted
    /// work meanwhile.
    package static func wait<Outcome>(for signal: DispatchSemaphore, _ outcome: () -> Outcome?) -> Outcome {
        while true {
            if let outcome = wait(for: signal, deadline: .distantFuture, outcome) { return outcome }
        }
    }

    /// As above, but nil when the deadline passes first.
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
