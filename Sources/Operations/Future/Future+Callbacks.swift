import OperationTypes

extension Future {
    /// Attaches callbacks. Each runs at most once; `completion` runs after `success` or `failure`, in the same unit of work.
    ///
    /// They run through the scheduler of `observe(on:)`, or else through ``Scheduler/default`` as it is now. On the main
    /// thread, with the main scheduler and a result that is known, they run before this returns.
    ///
    /// Callbacks of the default scheduler are delivered in the order they were attached: one that could run before older
    /// ones of the same promise that still wait for the main thread has those run first. A future that was made of a known
    /// result remembers nobody: threads that attach to it keep no order among each other.
    @inlinable
    public func on(
        success: ((Value) -> Void)? = nil, failure: ((Error) -> Void)? = nil, completion: (() -> Void)? = nil
    ) {
        if case .known(let result) = source, scheduler == nil, Scheduler.isInlineHere {
            switch result {
            case .success(let value): success?(value)
            case .failure(let error): failure?(error)
            }
            completion?()
        } else {
            attach(Callbacks(success: success, failure: failure, completion: completion))
        }
    }

    /// Attaches a callback for the value; see ``on(success:failure:completion:)``.
    @inlinable
    public func on(success: @escaping (Value) -> Void) {
        if case .known(let result) = source, scheduler == nil, Scheduler.isInlineHere {
            if case .success(let value) = result { success(value) }
        } else {
            attach(Callbacks(success: success, failure: nil, completion: nil))
        }
    }

    /// Attaches a callback for either result; see ``on(success:failure:completion:)``.
    @inlinable
    public func on(completion: @escaping () -> Void) {
        if case .known = source, scheduler == nil, Scheduler.isInlineHere {
            completion()
        } else {
            attach(Callbacks(success: nil, failure: nil, completion: completion))
        }
    }

    @inlinable
    func attach(_ callbacks: Callbacks<Value, Error>) {
        switch source {
        case .known(let result):
            (scheduler?.value ?? Scheduler.default) { callbacks.run(result) }
        case .promised(let promise):
            guard let scheduler else { return promise.add(callbacks) }
            if let result = promise.add(Handler(callbacks, .through(scheduler))) {
                scheduler.value { callbacks.run(result) }
            }
        }
    }
}
