import OperationTypes
import Synchronization

/// The state that a promise and its futures share.
///
/// 1. The state changes once, from pending to resolved or to a broken promise.
/// 2. Handlers are attached while the state is pending. Each handler runs or is released once.
/// 3. The promise is broken when nothing is left that could resolve it.
///
/// SAFETY: The variables are accessed only under the lock, with two exceptions. `known` is written once, under the
/// lock, before `isResolved` is set there, and is read only after `isResolved` was seen set. `due` and `link` are
/// accessed only by the thread that set the result.
@usableFromInline
final class Settlement<Value: Sendable, Failure: Error>: @unchecked Sendable {
    // The lock holds no value: destroying a Mutex of a generic type would take longer than everything else a promise
    // does.
    @usableFromInline let lock: Mutex<Void>
    /// Set once, under the lock. Read without the lock.
    @usableFromInline let isResolved: Atomic<Bool>
    /// Whether anything waits for the result. Written under the lock; read without it.
    @usableFromInline let isAwaited: Atomic<Bool>
    /// Whether a block is queued on the main thread that will deliver every callback it finds.
    @exclusivity(unchecked) @usableFromInline var isPostedToMain: Bool
    /// The number of promises, and of handlers of other settlements, that may still resolve this one.
    @exclusivity(unchecked) @usableFromInline var resolvers: Int
    @exclusivity(unchecked) @usableFromInline var known: Result<Value, Failure>?
    /// Handlers that wait for the result.
    @exclusivity(unchecked) @usableFromInline var handlers: HandlerList<Value, Failure>
    /// Callbacks for a default scheduler that have not run yet, including those attached after the result.
    @exclusivity(unchecked) @usableFromInline var ordered: CallbackQueue<Value, Failure>
    /// Handlers that have not run yet, once there is a result.
    @exclusivity(unchecked) @usableFromInline var due: HandlerList<Value, Failure>
    /// The rest of the chain, below this settlement.
    @exclusivity(unchecked) @usableFromInline var link: Chain.Link?
    /// The sleep of the first task that awaits the result; that task needs no handler.
    @usableFromInline let event: OneShotEvent
    @exclusivity(unchecked) @usableFromInline var isEventAwaited: Bool

    @inlinable
    init(resolvers: Int = 1) {
        lock = Mutex(())
        isResolved = Atomic(false)
        isAwaited = Atomic(false)
        isPostedToMain = false
        self.resolvers = resolvers
        known = nil
        handlers = HandlerList()
        ordered = CallbackQueue()
        due = HandlerList()
        link = nil
        event = OneShotEvent()
        isEventAwaited = false
    }

    @inlinable
    deinit {
        if isAwaited.load(ordering: .relaxed) { breakPromise() }
    }

    @inlinable
    var result: Result<Value, Failure>? { isResolved.load(ordering: .acquiring) ? known : nil }

    /// The result, if it is known and nothing is waiting for it any more.
    @inlinable
    var settled: Result<Value, Failure>? {
        isResolved.load(ordering: .acquiring) && !isAwaited.load(ordering: .acquiring) ? known : nil
    }

    var stateDescription: String {
        if let result { return "resolved: \(result)" }
        return lock.withLock { _ in
            resolvers == 0 ? "abandoned" : "pending, handlers: \(handlers.count)"
        }
    }
}

// MARK: - Resolving

extension Settlement {
    @inlinable
    func resolve(_ result: Result<Value, Failure>) {
        var chain = Chain()
        settle(result, &chain)
        chain.fire()
    }

    /// Sets the result, unless there is one, and pushes this settlement on the chain if handlers wait for it.
    @inlinable
    func settle(_ result: Result<Value, Failure>, _ chain: inout Chain) {
        var isAsleep = false
        let isFirst = lock.withLock { _ in
            guard !isResolved.load(ordering: .relaxed) else { return false }
            isAsleep = isEventAwaited
            known = result
            due = handlers
            handlers = HandlerList()
            isResolved.store(true, ordering: .releasing)
            if !due.isEmpty { noteWhetherAwaited() }
            return true
        }
        if isAsleep { event.signal() }
        guard isFirst, !due.isEmpty else { return }
        link = chain.top
        // SAFETY: A chain calls this with the member that was pushed together with it.
        chain.top = Chain.Link(member: self) { unsafeDowncast($0, to: Settlement.self).fireNext(&$1) }
    }

    /// Runs the next handler. Pops this settlement from the chain before the last one.
    @inlinable
    func fireNext(_ chain: inout Chain) {
        let next = due.popFirst()
        // Popping before the last handler runs keeps a long chain from staying in memory while it resolves.
        if due.isEmpty { chain.top = link.take() }
        guard let next, let known else { return }
        switch next.delivery {
        case nil: if let target = next.target { next.resolve?(known, target.object, &chain) }
        case .at(let executor): executor.schedule { next.callbacks?.run(known) }
        case .inOrder(let choice): announce(number: next.number, choice)
        }
    }

    /// Adds a handler that runs when there is a result, or releases it if there will be none.
    ///
    /// - Returns: The result if there already is one; the handler is then not added.
    @inlinable
    func add(_ handler: Handler<Value, Failure>) -> Result<Value, Failure>? {
        if let result { return result }
        var isBroken = false
        let isLate = lock.withLock { _ in
            if isResolved.load(ordering: .relaxed) { return true }
            if resolvers == 0 {
                isBroken = true
            } else {
                handlers.append(handler)
                isAwaited.store(true, ordering: .relaxed)
            }
            return false
        }
        if isBroken { BrokenPromise.of(handler.target) }
        return isLate ? known : nil
    }

    /// Suspends the task until there is a result or the task is cancelled. On cancellation, `onCancel` runs before the
    /// wait ends.
    @inlinable
    func sleep(onCancel: @Sendable () -> Void) async {
        let isFirst = lock.withLock { _ in
            defer { isEventAwaited = true }
            return !isEventAwaited && !isResolved.load(ordering: .relaxed) && resolvers > 0
        }
        guard isFirst else { return await sleepBeside(onCancel: onCancel) }
        await withTaskCancellationHandler {
            await event.wait()
        } onCancel: {
            onCancel()
            event.signal()
        }
    }

    /// Does the same as ``sleep(onCancel:)``, for every task after the first, and for a broken promise.
    @usableFromInline
    func sleepBeside(onCancel: @Sendable () -> Void) async {
        let waiter = Waiter<Result<Value, Failure>>()
        Future(.shared(self)).deliver(to: waiter)
        await waiter.outcome(onCancel: onCancel)
    }

    @inlinable
    func noteWhetherAwaited() {
        isAwaited.store(!handlers.isEmpty || !ordered.isEmpty, ordering: .relaxed)
    }
}

// MARK: - Callbacks in order

extension Settlement {
    /// Attaches callbacks for the default scheduler.
    @inlinable
    func add(_ callbacks: Callbacks<Value, Failure>) {
        let choice = Scheduler.chosen
        // Whether the callbacks can run at once.
        var isDue = false
        let isMain = choice.turn == 0 && MainThread.isCurrent
        let number = lock.withLock { _ -> Int? in
            let isResolved = isResolved.load(ordering: .relaxed)
            if isResolved, isMain, ordered.isEmpty {
                isDue = true
                return nil
            }
            if !isResolved, resolvers == 0 { return nil }
            let handler = Handler<Value, Failure>(callbacks, .inOrder(choice))
            ordered.append(handler)
            isAwaited.store(true, ordering: .relaxed)
            if isResolved { return handler.number }
            handlers.append(handler)
            return nil
        }
        if isDue, let known { callbacks.runNested(known) }
        if let number { announce(number: number, choice) }
    }

    /// Delivers the callbacks up to `number` through the scheduler.
    @inlinable
    func announce(number: Int, _ choice: Scheduler.Choice) {
        if let schedule = choice.schedule {
            schedule { self.deliver(turn: choice.turn, through: number) }
        } else if MainThread.isCurrent {
            deliver(turn: choice.turn, through: number)
        } else {
            let isFirst = lock.withLock { _ in
                // If no callbacks are left, a newer one has already delivered them, and no block is posted. The flag
                // must then stay false, since only a block resets it.
                guard !isPostedToMain, !ordered.isEmpty else { return false }
                isPostedToMain = true
                return true
            }
            guard isFirst else { return }
            MainInbox.post {
                self.lock.withLock { _ in self.isPostedToMain = false }
                self.deliver(turn: 0, through: .max)
            }
        }
    }

    /// Runs the due callbacks of one default scheduler, oldest first. If a newer callback is announced first, the older
    /// ones run before it.
    @inlinable
    func deliver(turn: Int, through limit: Int) {
        while true {
            let next = lock.withLock { _ in
                defer { noteWhetherAwaited() }
                return ordered.pop(turn: turn, through: limit)
            }
            guard let next, let result else { return }
            next.callbacks?.run(result)
            if next.number == limit { return }
        }
    }
}

// MARK: - Broken promises

extension Settlement: PromiseDependent {
    /// Called when a promise that could have resolved this is gone.
    @inlinable
    func resolverGone() {
        if !isResolved.load(ordering: .acquiring) { BrokenPromise.of(self) }
    }

    /// Reports that the result will never come, because the settlement is being released.
    @usableFromInline
    func breakPromise() {
        lock.withLock { _ in resolvers = 1 }
        var broken = BrokenPromise()
        promiseBroke(&broken)
        broken.release()
    }

    @inlinable
    func promiseBroke(_ broken: inout BrokenPromise) {
        var isAsleep = false
        var (waiting, callbacks) = lock.withLock { _ in
            resolvers -= 1
            guard resolvers == 0, !isResolved.load(ordering: .relaxed) else {
                return (HandlerList<Value, Failure>(), CallbackQueue<Value, Failure>())
            }
            defer {
                handlers = HandlerList()
                ordered = CallbackQueue()
                isAwaited.store(false, ordering: .relaxed)
            }
            isAsleep = isEventAwaited
            return (handlers, ordered)
        }
        if isAsleep { reportSleeper() }
        callbacks.removeAll()
        while let handler = waiting.popFirst() { broken.add(handler.target.take()) }
    }

    @usableFromInline
    func reportSleeper() {
        if !event.isSignalled {
            MisuseReport.report("A task waits until it is cancelled", of: "\(Future<Value, Failure>.self)")
        }
    }
}
