import OperationTypes

extension Future {
    /// Attaches callbacks. Each runs at most once; `completion` runs after `success` or `failure`, in the same unit of
    /// work.
    ///
    /// They run through the scheduler of `observe(on:)`, or else through the current ``Scheduler/default``. If the
    /// result is known, and this is the main thread with the main scheduler, they run before this returns.
    ///
    /// The default scheduler delivers callbacks in the order in which they were attached: if older callbacks of the
    /// same promise still wait for the main thread, they run before a newer one. A future that was created with its
    /// result keeps no list, so callbacks that several threads attach to it run in any order.
    ///
    /// The closures are not isolated to the main actor, since another scheduler may be set; see
    /// ``onMainActor(success:failure:completion:)``.
    @inlinable
    public func on(
        success: (@Sendable (Value) -> Void)? = nil, failure: (@Sendable (Error) -> Void)? = nil,
        completion: (@Sendable () -> Void)? = nil
    ) {
        attach(Callbacks(success: success, failure: failure, completion: completion))
    }

    /// Attaches a callback for the value; see ``on(success:failure:completion:)``.
    @inlinable
    public func on(success: @escaping @Sendable (Value) -> Void) {
        attach(Callbacks(success: success, failure: nil, completion: nil))
    }

    /// Attaches a callback for either result; see ``on(success:failure:completion:)``.
    @inlinable
    public func on(completion: @escaping @Sendable () -> Void) {
        attach(Callbacks(success: nil, failure: nil, completion: completion))
    }

    @inlinable
    func attach(_ callbacks: Callbacks<Value, Error>) {
        switch source {
        case .known(let result):
            if let executor { return executor.scheduleNested { callbacks.run(result) } }
            if Scheduler.isInlineHere { return callbacks.runNested(result) }
            CallbackExecutor.scheduler(Scheduler.default).scheduleNested { callbacks.run(result) }
        case .shared(let settlement):
            guard let executor else { return settlement.add(callbacks) }
            if let result = settlement.add(Handler(callbacks, .at(executor))) {
                executor.scheduleNested { callbacks.run(result) }
            }
        }
    }
}

extension Future {
    /// Attaches callbacks that run on the main actor: like ``on(success:failure:completion:)`` with the main scheduler,
    /// regardless of ``Scheduler/default`` and `observe(on:)`.
    public func onMainActor(
        success: (@MainActor @Sendable (Value) -> Void)? = nil, failure: (@MainActor @Sendable (Error) -> Void)? = nil,
        completion: (@MainActor @Sendable () -> Void)? = nil
    ) {
        materialize().observe(on: Scheduler.main).on { result in
            MainActor.assumeIsolated {
                switch result {
                case .success(let value): success?(value)
                case .failure(let error): failure?(error)
                }
                completion?()
            }
        }
    }
}
