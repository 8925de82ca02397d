import OperationTypes
import Synchronization

/// The state that a promise and its futures share.
///
/// 1. It goes from pending to resolved, or to abandoned, and stays there.
/// 2. Handlers are attached while it is pending. They run, or are released, once.
/// 3. It is abandoned when nobody is left who could resolve it.
@usableFromInline
final class Settlement<Value: Sendable, Failure: Error>: Sendable {
    @usableFromInline
    struct Core: Sendable {
        @usableFromInline var result: Result<Value, Failure>?
        /// Waiting for the result; after it, those whose turn has not come.
        @usableFromInline var handlers: HandlerList<Value, Failure>
        /// The handlers that a default scheduler delivers and that did not run yet, and those attached after the result.
        @usableFromInline var callbacks: CallbackQueue<Value, Failure>
        /// Whether a block on its way to the main thread will deliver every callback it finds.
        @usableFromInline var isPostedToMain: Bool
        /// How many may still resolve this: promises, or handlers of other settlements.
        @usableFromInline var resolvers: Int
        /// The rest of the chain, below this settlement.
        @usableFromInline var link: Chain.Link?

        // An initializer that can be inlined, since initial values beside the properties cannot.
        @inlinable
        init(resolvers: Int) {
            result = nil
            handlers = HandlerList()
            callbacks = CallbackQueue()
            isPostedToMain = false
            self.resolvers = resolvers
            link = nil
        }
    }

    @usableFromInline let core: Mutex<Core>
    /// Whether anything waits, stored inside the lock: all that `deinit` needs to look at in most cases.
    @usableFromInline let isAwaited: Atomic<Bool>

    @inlinable
    init(resolvers: Int = 1) {
        core = Mutex(Core(resolvers: resolvers))
        isAwaited = Atomic(false)
    }

    @inlinable
    deinit {
        if isAwaited.load(ordering: .relaxed) { abandonAll() }
    }

    @inlinable
    var result: Result<Value, Failure>? { core.withLock { $0.result } }

    /// The result, once no callback that is delivered in order waits any more.
    @inlinable
    var settled: Result<Value, Failure>? { core.withLock { $0.callbacks.isEmpty ? $0.result : nil } }

    var stateDescription: String {
        core.withLock { core in
            if let result = core.result { return "resolved: \(result)" }
            return core.resolvers == 0 ? "abandoned" : "pending, handlers: \(core.handlers.count)"
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

    /// Sets the result, unless there is one, and puts this settlement on the chain when handlers wait for it.
    @inlinable
    func settle(_ result: Result<Value, Failure>, _ chain: inout Chain) {
        let below = chain.top
        let hasHandlers = core.withLock { core in
            guard core.result == nil else { return false }
            core.result = result
            guard !core.handlers.isEmpty else { return false }
            core.link = below
            return true
        }
        guard hasHandlers else { return }
        // SAFETY: A chain calls this with the member it was put there with.
        chain.top = Chain.Link(member: self) { unsafeDowncast($0, to: Settlement.self).fireNext(&$1) }
    }

    /// Runs the next handler, and leaves the chain with the last.
    @inlinable
    func fireNext(_ chain: inout Chain) {
        var link: Chain.Link?
        var isLast = false
        var result: Result<Value, Failure>?
        let next = core.withLock { core -> Handler<Value, Failure>? in
            result = core.result
            let handler = core.handlers.popFirst()
            if core.handlers.isEmpty {
                isLast = true
                link = core.link
                core.link = nil
                noteWhetherAwaited(core)
            }
            return handler
        }
        // Leaving before the last handler runs keeps a long chain from staying in memory while it resolves.
        if isLast { chain.top = link }
        guard let next, let result else { return }
        switch next.work {
        case .resolve(let resolve):
            if let target = next.target { resolve(result, target, &chain) }
        case .call(let callbacks, .through(let schedule)):
            schedule { callbacks.run(result) }
        case .call(_, .inOrder(let choice)):
            announce(number: next.number, choice)
        }
    }

    /// Adds a handler that runs when the result comes, or releases it if none will.
    ///
    /// - Returns: The result if it is there already; the handler is then not added.
    @inlinable
    func add(_ handler: Handler<Value, Failure>) -> Result<Value, Failure>? {
        var isAbandoned = false
        let result = core.withLock { core in
            if core.result == nil {
                if core.resolvers == 0 {
                    isAbandoned = true
                } else {
                    core.handlers.append(handler)
                    isAwaited.store(true, ordering: .relaxed)
                }
            }
            return core.result
        }
        if isAbandoned { Abandonment.of(handler.target) }
        return result
    }

    @inlinable
    func noteWhetherAwaited(_ core: Core) {
        isAwaited.store(!core.handlers.isEmpty || !core.callbacks.isEmpty, ordering: .relaxed)
    }
}

// MARK: - Callbacks in order

extension Settlement {
    /// Attaches callbacks for the default scheduler.
    @inlinable
    func add(_ callbacks: Callbacks<Value, Failure>) {
        let choice = Scheduler.chosen
        // The result, when the callbacks need not wait for anything.
        var known: Result<Value, Failure>?
        let isMain = choice.turn == 0 && MainThread.isCurrent
        let number = core.withLock { core -> Int? in
            if isMain, core.callbacks.isEmpty, core.result != nil {
                known = core.result
                return nil
            }
            if core.result == nil, core.resolvers == 0 { return nil }
            let handler = Handler<Value, Failure>(callbacks, .inOrder(choice))
            core.callbacks.append(handler)
            isAwaited.store(true, ordering: .relaxed)
            if core.result != nil { return handler.number }
            core.handlers.append(handler)
            return nil
        }
        if let known { callbacks.runNested(known) }
        if let number { announce(number: number, choice) }
    }

    /// Has the scheduler deliver the callbacks up to a number.
    @inlinable
    func announce(number: Int, _ choice: Scheduler.Choice) {
        if let schedule = choice.schedule {
            schedule { self.deliver(turn: choice.turn, through: number) }
        } else if MainThread.isCurrent {
            deliver(turn: choice.turn, through: number)
        } else {
            let isFirst = core.withLock { core in
                defer { core.isPostedToMain = true }
                return !core.isPostedToMain && !core.callbacks.isEmpty
            }
            guard isFirst else { return }
            MainInbox.post {
                self.core.withLock { $0.isPostedToMain = false }
                self.deliver(turn: 0, through: .max)
            }
        }
    }

    /// Runs the callbacks of one default scheduler that are due, oldest first. A younger one that is announced first takes
    /// the older ones along, so that none overtakes.
    @inlinable
    func deliver(turn: Int, through limit: Int) {
        while true {
            var result: Result<Value, Failure>?
            let next = core.withLock { core in
                result = core.result
                defer { noteWhetherAwaited(core) }
                return core.callbacks.pop(turn: turn, through: limit)
            }
            guard let next, let result, case .call(let callbacks, _) = next.work else { return }
            callbacks.run(result)
            if next.number == limit { return }
        }
    }
}

// MARK: - Being abandoned

extension Settlement: Abandonable {
    /// A promise that could have resolved this is gone.
    @inlinable
    func resolverGone() {
        let isOver = core.withLock { $0.result != nil }
        if !isOver { Abandonment.of(self) }
    }

    /// For a settlement that is released itself: nothing may hold it any more.
    @usableFromInline
    func abandonAll() {
        core.withLock { $0.resolvers = 1 }
        var abandonment = Abandonment()
        abandon(&abandonment)
        abandonment.release()
    }

    @usableFromInline
    func abandon(_ abandonment: inout Abandonment) {
        var (handlers, callbacks) = core.withLock { core in
            core.resolvers -= 1
            guard core.resolvers == 0, core.result == nil else {
                return (HandlerList<Value, Failure>(), CallbackQueue<Value, Failure>())
            }
            defer {
                core.handlers = HandlerList()
                core.callbacks = CallbackQueue()
                isAwaited.store(false, ordering: .relaxed)
            }
            return (core.handlers, core.callbacks)
        }
        callbacks.removeAll()
        while let handler = handlers.popFirst() {
            abandonment.add(handler.target)
            handler.target = nil
        }
    }
}
