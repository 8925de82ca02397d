import OperationTypes
import Synchronization

/// The writing end of a ``Future``.
public typealias Promise<Value, Error: Swift.Error> = Future<Value, Error>.Promise

extension Future {
    /// The writing end of a future: resolves it, once, from any thread.
    ///
    /// The first of `succeed`, `fail` and `resolve` takes effect, later ones do nothing. No lock is held while handlers run,
    /// so a handler may come back here. Handlers are released right after they ran.
    public final class Promise: CustomDebugStringConvertible {
        /// SAFETY: Exists only inside the mutex below.
        @usableFromInline
        struct Core: @unchecked Sendable {
            @usableFromInline var result: Result?
            /// Waiting for the result; after it, those whose turn has not come.
            @usableFromInline var handlers: HandlerList<Value, Error>
            /// Those of the handlers that a default scheduler delivers and that did not run yet, and such as came after the
            /// result.
            @usableFromInline var callbacks: CallbackQueue<Value, Error>
            /// Whether a block on its way to the main thread will deliver every callback it finds.
            @usableFromInline var isPostedToMain: Bool
            /// What is below this promise on the chain.
            @usableFromInline var link: Chain.Link?

            // An initializer that can be inlined, since initial values beside the properties cannot.
            @inlinable
            init() {
                result = nil
                handlers = HandlerList()
                callbacks = CallbackQueue()
                isPostedToMain = false
                link = nil
            }
        }

        @usableFromInline let core: Mutex<Core>
        /// Whether anything waits, told from inside the lock: all that `deinit` needs to look at in most cases.
        @usableFromInline let isAwaited: Atomic<Bool>

        @inlinable
        public init() {
            core = Mutex(Core())
            isAwaited = Atomic(false)
        }

        @inlinable
        deinit {
            if isAwaited.load(ordering: .relaxed) { abandonAll() }
        }

        @inlinable
        public var future: Future { Future(self) }

        @inlinable
        public func succeed(value: Value) { resolve(result: .success(value)) }

        @inlinable
        public func fail(error: Error) { resolve(result: .failure(error)) }

        /// Resolves the future and runs what waits for it: transformations here and now, callbacks through their scheduler.
        @inlinable
        public func resolve(result: Result) {
            var chain = Chain()
            settle(result, &chain)
            chain.fire()
        }

        @inlinable
        var result: Result? { core.withLock { $0.result } }

        /// The result, once no callback that is delivered in order waits any more.
        @inlinable
        var settled: Result? { core.withLock { $0.callbacks.isEmpty ? $0.result : nil } }

        public var debugDescription: String {
            core.withLock { core in
                let state = core.result.map { "resolved: \($0)" } ?? "pending, handlers: \(core.handlers.count)"
                return "Promise<\(Value.self), \(Error.self)> { \(state) }"
            }
        }
    }
}

extension Future.Promise: Sendable where Value: Sendable {}

// MARK: - Resolving

extension Future.Promise {
    /// Sets the result, unless there is one, and puts this promise on the chain when handlers wait for it.
    @inlinable
    func settle(_ result: Future.Result, _ chain: inout Chain) {
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
        chain.top = (self, { unsafeDowncast($0, to: Future.Promise.self).fireNext(&$1) })
    }

    /// Runs the next handler, and leaves the chain with the last.
    @inlinable
    func fireNext(_ chain: inout Chain) {
        var link: Chain.Link?
        var isLast = false
        var result: Future.Result?
        let next = core.withLock { core -> Handler<Value, Error>? in
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
            schedule.value { callbacks.run(result) }
        case .call(_, .inOrder(let choice)):
            announce(number: next.number, choice)
        }
    }

    /// Adds a handler that runs when the result comes.
    ///
    /// - Returns: The result if it is there already; the handler is then not added.
    @inlinable
    func add(_ handler: Handler<Value, Error>) -> Future.Result? {
        core.withLock { core in
            if core.result == nil {
                core.handlers.append(handler)
                isAwaited.store(true, ordering: .relaxed)
            }
            return core.result
        }
    }

    @inlinable
    func noteWhetherAwaited(_ core: Core) {
        isAwaited.store(!core.handlers.isEmpty || !core.callbacks.isEmpty, ordering: .relaxed)
    }
}

// MARK: - Callbacks in order

extension Future.Promise {
    /// Attaches callbacks for the default scheduler.
    @inlinable
    func add(_ callbacks: Callbacks<Value, Error>) {
        let choice = Scheduler.chosen
        // The result, when the callbacks need not wait for anything.
        var known: Future.Result?
        let isMain = choice.turn == 0 && MainThread.isCurrent
        let number = core.withLock { core -> Int? in
            if isMain, core.callbacks.isEmpty, core.result != nil {
                known = core.result
                return nil
            }
            let handler = Handler<Value, Error>(callbacks, .inOrder(choice))
            core.callbacks.append(handler)
            isAwaited.store(true, ordering: .relaxed)
            if core.result != nil { return handler.number }
            core.handlers.append(handler)
            return nil
        }
        if let known { callbacks.run(known) }
        if let number { announce(number: number, choice) }
    }

    /// Has the scheduler deliver the callbacks up to a number.
    @inlinable
    func announce(number: Int, _ choice: Scheduler.Choice) {
        if let schedule = choice.schedule {
            schedule.value { self.deliver(turn: choice.turn, through: number) }
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
            var result: Future.Result?
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

// MARK: - Being dropped

extension Future.Promise: Abandonable {
    @usableFromInline
    func abandonAll() {
        var remains = Remains()
        abandon(into: &remains)
        remains.release()
    }

    @usableFromInline
    func abandon(into remains: inout Remains) {
        var (handlers, callbacks) = core.withLock { core in
            defer {
                core.handlers = HandlerList()
                core.callbacks = CallbackQueue()
            }
            return (core.handlers, core.callbacks)
        }
        callbacks.removeAll()
        while let handler = handlers.popFirst() { remains.take(&handler.target) }
    }
}
