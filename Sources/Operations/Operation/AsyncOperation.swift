import Foundation
import OperationTypes
import Synchronization

/// A Foundation operation whose work may continue after `main()` has returned. It lasts until ``finish()`` is called.
///
/// Subclasses override ``main()``, start the work there, and call ``finish()`` from any thread when the work is done.
/// The operation runs on Foundation's `OperationQueue`, on a ``LinearOperationQueue``, or without a queue after
/// ``start()``. While it executes, it retains itself.
///
/// 1. The state changes from ready to executing to finished, and never back. `main()` runs at most once.
/// 2. An operation that was cancelled or finished before its start finishes when it is started, without running
///    `main()`.
/// 3. Observers are notified only after the state has changed.
///
/// SAFETY: This class adds only an atomic and a mutex. Foundation declares `Operation` itself unchecked Sendable.
open class AsyncOperation: Operation, @unchecked Sendable {
    private enum Phase {
        static let ready: UInt8 = 0
        /// Started, and about to finish without ``main()``.
        static let closing: UInt8 = 1
        static let executing: UInt8 = 2
        /// Finished, but not started yet. Foundation is not notified yet, since its queue would lose count.
        static let finishedEarly: UInt8 = 3
        static let finished: UInt8 = 4
    }

    private struct Attached {
        var membership: QueueMembership?
        var cancellation: CancellationTokenSource?
        var listeners: [@Sendable () -> Void] = []
    }

    private let phase = Atomic(Phase.ready)
    private let attached = Mutex(Attached())

    /// True: the operation may still execute after ``start()`` has returned.
    open override var isAsynchronous: Bool { true }
    /// Whether ``main()`` has been started and ``finish()`` has not been called.
    open override var isExecuting: Bool { phase.load(ordering: .acquiring) == Phase.executing }
    /// Whether the operation has finished. Also true for an operation that was finished before its start.
    open override var isFinished: Bool { phase.load(ordering: .acquiring) >= Phase.finishedEarly }

    /// Whether `start()` was called. An operation may have finished before that.
    final var hasStarted: Bool {
        let phase = phase.load(ordering: .acquiring)
        return phase != Phase.ready && phase != Phase.finishedEarly
    }

    /// Runs ``main()``. Does nothing if the operation was started before. If it was cancelled or finished before, it
    /// now finishes without running `main()`.
    open override func start() {
        if isCancelled, !runsThoughCancelled, advance(from: Phase.ready, to: Phase.closing) {
            close()
            _ = advance(from: Phase.closing, to: Phase.finished)
            return announceFinish()
        }
        // The operation retains itself until `finish()`, since nothing else needs to retain an executing operation.
        // `finish()` may be called as soon as the operation executes.
        let hold = Unmanaged.passRetained(self)
        if advance(from: Phase.ready, to: Phase.executing) {
            didChangeValue(forKey: "isExecuting")
            if prepare() { main() }
            return
        }
        if advance(from: Phase.finishedEarly, to: Phase.finished) { announceFinish() }
        hold.release()
    }

    /// Starts the work. Every subclass must override this, and must not call `super`.
    open override func main() {
        preconditionFailure("\(type(of: self)) must override main() and call finish() when its work is done")
    }

    /// Ends the operation. May be called from any thread; only the first call has an effect. After a call before the
    /// start, ``start()`` finishes the operation without running ``main()``.
    open func finish() {
        if advance(from: Phase.executing, to: Phase.finished) {
            didChangeValue(forKey: "isExecuting")
            announceFinish()
            Unmanaged.passUnretained(self).release()
        } else if advance(from: Phase.ready, to: Phase.finishedEarly) {
            notifyListeners()
        }
    }

    /// Requests that the operation stop. An operation that has not started never runs ``main()``, and may be started at
    /// once, whatever its dependencies. An operation that has finished does not change.
    open override func cancel() {
        guard !isFinished else { return }
        super.cancel()
        let (membership, cancellation) = attached.withLock { ($0.membership, $0.cancellation) }
        cancellation?.cancel()
        if let membership { membership.queue.expedite(membership.handle) }
    }

    /// A token that cancels when the operation is cancelled. If the operation is already cancelled, so is the token.
    ///
    /// A closure that is registered after the cancellation runs at once, so the work misses no cancellation.
    public final var cancellation: CancellationToken {
        let source = attached.withLock { attached in
            let source = attached.cancellation ?? CancellationTokenSource()
            attached.cancellation = source
            return source
        }
        if isCancelled { source.cancel() }
        return source.token
    }

    /// Blocks this thread until the operation has finished. If this is the main thread, the work that is scheduled for
    /// it runs in the meantime.
    open override func waitUntilFinished() {
        guard !isFinished else { return }
        let finished = DispatchSemaphore(value: 0)
        whenFinished { finished.signal() }
        MainInbox.wait(for: finished) { isFinished ? () : nil }
    }

    /// Called between the start and ``main()``.
    ///
    /// - Returns: False if it has finished the operation.
    func prepare() -> Bool { true }

    /// Called for an operation that was cancelled before its start, before it finishes.
    func close() {}

    /// Whether ``main()`` runs even if the operation was cancelled before its start, because only the work can decide
    /// how it ended.
    var runsThoughCancelled: Bool { false }

    // MARK: - Notifying observers

    /// Runs `body` once the operation has finished, or now if it already has.
    final func whenFinished(_ body: @escaping @Sendable () -> Void) {
        let isLate = attached.withLock { attached in
            if isFinished { return true }
            attached.listeners.append(body)
            return false
        }
        if isLate { body() }
    }

    /// Stores the operation's membership of a ``LinearOperationQueue``, which is then notified of a cancellation and of
    /// the finish.
    final func settle(in membership: QueueMembership) {
        attached.withLock { attached in
            precondition(attached.membership == nil, "\(self) is already in a queue")
            attached.membership = membership
        }
    }

    final func isMember(of queue: LinearOperationQueue) -> Bool { attached.withLock { $0.membership?.queue === queue } }

    private func advance(from old: UInt8, to new: UInt8) -> Bool {
        phase.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    private func announceFinish() {
        didChangeValue(forKey: "isFinished")
        // Releases the closures that would stop the work, since they may retain the operation.
        let (membership, cancellation) = attached.withLock { ($0.membership.take(), $0.cancellation.take()) }
        withExtendedLifetime(cancellation) {}
        notifyListeners()
        if let membership { membership.queue.finished(membership.handle) }
    }

    private func notifyListeners() {
        let listeners = attached.withLock { attached in
            defer { attached.listeners = [] }
            return attached.listeners
        }
        for listener in listeners { listener() }
    }

    deinit {
        var dependencies = self.dependencies
        guard !dependencies.isEmpty else { return }
        // Foundation keeps an unretained pointer from a dependency to its dependent, so this operation must be removed
        // from its dependencies before it is deallocated.
        for dependency in dependencies { removeDependency(dependency) }
        Teardown.release(&dependencies)
    }
}

/// The membership of an operation in a ``LinearOperationQueue``.
struct QueueMembership: Sendable {
    let queue: LinearOperationQueue
    let handle: QueueState.Handle
}
