import Foundation
import OperationTypes
import Synchronization

/// A Foundation operation whose work goes on after `main()` has returned: it lasts until ``finish()``.
///
/// Subclasses override ``main()``, start the work there, and call ``finish()`` from any thread when it is done. It runs on
/// Foundation's `OperationQueue`, on a ``LinearOperationQueue``, or by itself with ``start()``; while it executes it keeps
/// itself alive.
///
/// 1. The state goes from ready over executing to finished, and never back. `main()` runs at most once.
/// 2. One that was cancelled, or finished, before it started finishes when it is started, without `main()`.
/// 3. The state has changed before anybody is told.
///
/// SAFETY: What this class adds is an atomic and a mutex; Foundation declares the same of `Operation`.
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
        var home: Home?
        var cancellation: CancellationTokenSource?
        var listeners: [@Sendable () -> Void] = []
    }

    private let phase = Atomic(Phase.ready)
    private let attached = Mutex(Attached())

    open override var isAsynchronous: Bool { true }
    open override var isExecuting: Bool { phase.load(ordering: .acquiring) == Phase.executing }
    open override var isFinished: Bool { phase.load(ordering: .acquiring) >= Phase.finishedEarly }

    /// Whether `start()` was called. An operation may be finished before that.
    final var hasStarted: Bool {
        let phase = phase.load(ordering: .acquiring)
        return phase != Phase.ready && phase != Phase.finishedEarly
    }

    /// Runs ``main()``, unless the operation was started, cancelled or finished before.
    open override func start() {
        if isCancelled, !runsThoughCancelled, advance(from: Phase.ready, to: Phase.closing) {
            close()
            _ = advance(from: Phase.closing, to: Phase.finished)
            return announceFinish()
        }
        // Until `finish()`, which may come as soon as the operation executes: nobody else needs to hold one that does.
        let hold = Unmanaged.passRetained(self)
        if advance(from: Phase.ready, to: Phase.executing) {
            didChangeValue(forKey: "isExecuting")
            if prepare() { main() }
            return
        }
        if advance(from: Phase.finishedEarly, to: Phase.finished) { announceFinish() }
        hold.release()
    }

    /// Starts the work. Every subclass overrides this, and does not call it on `super`.
    open override func main() {
        preconditionFailure("\(type(of: self)) has to override main(), and to call finish() when its work is done")
    }

    /// Ends the operation. Of several calls, from whatever threads, one counts. Called before the start, it has the start
    /// finish the operation without ``main()``.
    open func finish() {
        if advance(from: Phase.executing, to: Phase.finished) {
            didChangeValue(forKey: "isExecuting")
            announceFinish()
            Unmanaged.passUnretained(self).release()
        } else if advance(from: Phase.ready, to: Phase.finishedEarly) {
            notifyListeners()
        }
    }

    /// Asks the operation to stop. One that did not start never runs ``main()``; it is ready to be started now, whatever it
    /// depends on. One that finished is not changed.
    open override func cancel() {
        guard !isFinished else { return }
        super.cancel()
        let (home, cancellation) = attached.withLock { ($0.home, $0.cancellation) }
        cancellation?.cancel()
        if let home { home.queue.expedite(home.place) }
    }

    /// Cancels when the operation does; at once when it is cancelled already.
    ///
    /// A closure registered after the work was created misses no cancellation, however close it came.
    public final var cancellation: CancellationToken {
        let source = attached.withLock { attached in
            let source = attached.cancellation ?? CancellationTokenSource()
            attached.cancellation = source
            return source
        }
        if isCancelled { source.cancel() }
        return source.token
    }

    open override func waitUntilFinished() {
        guard !isFinished else { return }
        let finished = DispatchSemaphore(value: 0)
        whenFinished { finished.signal() }
        MainInbox.wait(for: finished) { isFinished ? () : nil }
    }

    /// What comes between the start and ``main()``; false when the operation finished there.
    func prepare() -> Bool { true }

    /// Called before an operation finishes that was cancelled before it started.
    func close() {}

    /// Whether ``main()`` is needed to say how an operation ended that was cancelled before it started.
    var runsThoughCancelled: Bool { false }

    // MARK: - Telling others

    /// Runs `body` once the operation has finished; now, if it has.
    final func whenFinished(_ body: @escaping @Sendable () -> Void) {
        let isLate = attached.withLock { attached in
            if isFinished { return true }
            attached.listeners.append(body)
            return false
        }
        if isLate { body() }
    }

    /// Has a queue of ours know of the finish, and of a cancellation.
    final func settle(in home: Home) {
        attached.withLock { attached in
            precondition(attached.home == nil, "\(self) is in a queue already")
            attached.home = home
        }
    }

    final func isAtHome(in queue: LinearOperationQueue) -> Bool { attached.withLock { $0.home?.queue === queue } }

    private func advance(from old: UInt8, to new: UInt8) -> Bool {
        phase.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    private func announceFinish() {
        didChangeValue(forKey: "isFinished")
        // What was to stop the work is released: it may hold the operation.
        let (home, cancellation) = attached.withLock { ($0.home.take(), $0.cancellation.take()) }
        withExtendedLifetime(cancellation) {}
        notifyListeners()
        if let home { home.queue.finished(home.place) }
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
        // An operation that a dependency still knows must not vanish: Foundation keeps a bare pointer.
        for dependency in dependencies { removeDependency(dependency) }
        Teardown.release(&dependencies)
    }
}

/// The place of an operation in a queue of ours.
struct Home: Sendable {
    let queue: LinearOperationQueue
    let place: QueueState.Place
}
