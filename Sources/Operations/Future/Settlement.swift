import OperationTypes
import Synchronization

/// The state that a promise and its futures share.
///
/// 1. It changes once from pending to resolved or abandoned.
/// 2. Handlers are attached while it is pending. Each runs or is released once.
/// 3. It is abandoned when nothing is left that could resolve it.
@usableFromInline
final class Settlement<Value: Sendable, Failure: Error>: Sendable {
    @usableFromInline
    struct Core: Sendable {
        @usableFromInline var result: Result<Value, Failure>?
        /// Handlers that wait for the result; once there is a result, those that have not run yet.
        @usableFromInline var handlers: HandlerList<Value, Failure>
        /// Callbacks for a default scheduler that have not run yet, including those attached after the result.
        @usableFromInline var callbacks: CallbackQueue<Value, Failure>
        /// Whether a block is queued on the main thread that will deliver every callback it finds.
        @usableFromInline var isPostedToMain: Bool
        /// How many promises, or handlers of other settlements, may still resolve this.
        @usableFromInline var resolvers: Int
        /// The rest of the chain, below this settlement.
        @usableFromInline var link: Chain.Link?

        // An explicit initializer can be inlined; default values of properties cannot.
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
    /// Whether anything waits. It is written under the lock, and usually the only thing `deinit` reads.
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

    /// The result, once no callback that is delivered in order is waiting.
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

    /// Sets the result, unless there is one, and pushes this settlement on the chain if handlers wait for it.
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
        // SAFETY: A chain calls this with the member that was pushed together with it.
        chain.top = Chain.Link(member: self) { unsafeDowncast($0, to: Settlement.self).fireNext(&$1) }
    }

    /// Runs the next handler. Pops this settlement from the chain before the last one.
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
        // Popping before the last handler runs keeps a long chain from staying in memory while it resolves.
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

    /// Adds a handler that runs when there is a result, or releases it if there will be none.
    ///
    /// - Returns: The result if there already is one; the handler is then not added.
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
        // The result, if the callbacks can run at once.
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

    /// Delivers the callbacks up to a number through the scheduler.
    @inlinable
    func announce(number: Int, _ choice: Scheduler.Choice) {
        if let schedule = choice.schedule {
            schedule { self.deliver(turn: choice.turn, through: number) }
        } else if MainThread.isCurrent {
            deliver(turn: choice.turn, through: number)
        } else {
            let isFirst = core.withLock { core in
                // Without callbacks no block is sent, which alone would set this back: a younger one took these along.
                guard !core.isPostedToMain, !core.callbacks.isEmpty else { return false }
                core.isPostedToMain = true
                return true
            }
            guard isFirst else { return }
            MainInbox.post {
                self.core.withLock { $0.isPostedToMain = false }
                self.deliver(turn: 0, through: .max)
            }
        }
    }

    /// Runs the due callbacks of one default scheduler, oldest first. If a newer callback is announced first, the older
    /// ones run before it.
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
    /// Notes that a promise that could have resolved this is gone.
    @inlinable
    func resolverGone() {
        let isOver = core.withLock { $0.result != nil }
        if !isOver { Abandonment.of(self) }
    }

    /// Abandons a settlement that is being released, whatever could still have resolved it.
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
