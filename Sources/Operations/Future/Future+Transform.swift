import Dispatch
import OperationTypes

extension Future {
    /// The result, if it is known and a transformation may run on this thread.
    @inlinable
    var transformable: Result? { executor == nil ? result : nil }

    /// This future without the effect of `observe(on:)`. A transformation that runs none of the caller's code needs no
    /// scheduler.
    @inlinable
    var unscheduled: Future { Future(source) }

    /// A future of the transformed value. A failure is passed on.
    @inlinable
    public func map<NewValue: Sendable>(_ transform: @escaping @Sendable (Value) -> NewValue) -> Future<NewValue, Error>
    {
        if let result = transformable { return .init(result: result.map(transform)) }
        return later { $0.map(transform) }
    }

    /// A future with a transformed error. A value is passed on.
    @inlinable
    public func mapError<NewError>(_ transform: @escaping @Sendable (Error) -> NewError) -> Future<Value, NewError> {
        if let result = transformable { return .init(result: result.mapError(transform)) }
        return later { $0.mapError(transform) }
    }

    /// The future that `transform` returns for the value. A failure is passed on.
    @inlinable
    public func flatMap<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Value) -> Future<NewValue, Error>
    ) -> Future<NewValue, Error> {
        if let result = transformable { return Future<NewValue, Error>.nested { Self.flatten(result, transform) } }
        return laterFlat { Self.flatten($0, transform) }
    }

    /// The future that `transform` returns for the value, which cannot fail. A failure is passed on.
    @inlinable
    public func flatMap<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Value) -> Future<NewValue, Never>
    ) -> Future<NewValue, Error> {
        flatMap { transform($0).castError(Error.self) }
    }

    /// The future that `transform` returns for the error. A value is passed on.
    @inlinable
    public func flatMapError<NewError>(
        _ transform: @escaping @Sendable (Error) -> Future<Value, NewError>
    ) -> Future<Value, NewError> {
        if let result = transformable { return Future<Value, NewError>.nested { Self.flattenError(result, transform) } }
        return laterFlat { Self.flattenError($0, transform) }
    }

    /// A future that discards the value.
    @inlinable
    public func asVoid() -> Future<Void, Error> { unscheduled.map { _ in } }

    /// A future that never fails: its value is this one's result.
    @inlinable
    public func materialize() -> Future<Result, Never> {
        if let result { return .init(value: result) }
        return unscheduled.later { .success($0) }
    }
}

extension Future where Error == Never {
    /// The future that `transform` returns for the value, which may fail.
    @inlinable
    public func flatMap<NewValue: Sendable, NewError>(
        _ transform: @escaping @Sendable (Value) -> Future<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        castError(NewError.self).flatMap(transform)
    }

    /// The future that `transform` returns for the value, if neither future can fail.
    @inlinable
    public func flatMap<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Value) -> Future<NewValue, Never>
    ) -> Future<NewValue, Never> {
        if let result = transformable { return Future<NewValue, Never>.nested { Self.flatten(result, transform) } }
        return laterFlat { Self.flatten($0, transform) }
    }

    /// The same future with another error type, for composing with futures that can fail.
    @inlinable
    public func castError<NewError>(_: NewError.Type = NewError.self) -> Future<Value, NewError> {
        if let result { return .init(result: .success(result.get())) }
        return unscheduled.later { .success($0.get()) }
    }
}

extension Future where Error == any Swift.Error {
    /// A future of the transformed value. An error that `transform` throws becomes the failure.
    @inlinable
    public func tryMap<NewValue: Sendable>(_ transform: @escaping @Sendable (Value) throws -> NewValue) -> Future<
        NewValue, Error
    > {
        if let result = transformable { return .init(result: Self.attempt(result, transform)) }
        return later { Self.attempt($0, transform) }
    }

    @inlinable
    static func attempt<NewValue: Sendable>(
        _ result: Result, _ transform: (Value) throws -> NewValue
    ) -> Swift.Result<NewValue, Error> {
        Swift.Result { try transform(result.get()) }
    }
}

// MARK: - When the result arrives

extension Future {
    @inlinable
    static func flatten<NewValue: Sendable>(
        _ result: Result, _ transform: (Value) -> Future<NewValue, Error>
    ) -> Future<NewValue, Error> {
        switch result {
        case .success(let value): transform(value)
        case .failure(let error): .init(error: error)
        }
    }

    @inlinable
    static func flattenError<NewError>(
        _ result: Result, _ transform: (Error) -> Future<Value, NewError>
    ) -> Future<Value, NewError> {
        switch result {
        case .success(let value): .init(value: value)
        case .failure(let error): transform(error)
        }
    }

    /// The future that `make` returns. If too many of these calls nest, `make` runs just before the outermost call
    /// returns.
    @inlinable
    static func nested(_ make: @escaping @Sendable () -> Future) -> Future {
        guard Nesting.enter() else {
            let target = Settlement<Value, Error>()
            Nesting.postpone {
                var chain = Chain()
                make().forward(to: target, &chain)
                chain.fire()
            }
            return Future(target)
        }
        let future = make()
        Nesting.leave()
        return future
    }

    /// A future of the transformed result. The resolving thread transforms it, or the scheduler of `observe(on:)`.
    @inlinable
    func later<NewValue: Sendable, NewError>(
        _ transform: @escaping @Sendable (Result) -> Swift.Result<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        let target = Settlement<NewValue, NewError>()
        switch executor {
        case .queue(let queue):
            receive(for: target) { result, target, _ in
                let target = Settlement<NewValue, NewError>.of(target)
                queue.async { target.resolve(transform(result)) }
            }
            return Future<NewValue, NewError>(.shared(target))
        case .scheduler(let schedule):
            return scheduled(schedule) { .init(result: transform($0)) }
        case nil: break
        }
        receive(for: target) { result, target, chain in
            Settlement<NewValue, NewError>.of(target).settle(transform(result), &chain)
        }
        return Future<NewValue, NewError>(target)
    }

    /// The same as ``later(_:)``, for a transformation that returns another future.
    @inlinable
    func laterFlat<NewValue: Sendable, NewError>(
        _ transform: @escaping @Sendable (Result) -> Future<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        if let executor { return scheduled(executor.schedule, transform) }
        let target = Settlement<NewValue, NewError>()
        receive(for: target) { result, target, chain in
            transform(result).forward(to: Settlement<NewValue, NewError>.of(target), &chain)
        }
        return Future<NewValue, NewError>(target)
    }

    @inlinable
    func scheduled<NewValue: Sendable, NewError>(
        _ schedule: @escaping ScheduleWork, _ transform: @escaping @Sendable (Result) -> Future<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        let target = Settlement<NewValue, NewError>()
        receive(for: target) { result, target, chain in
            let scheduled = ScheduledTransform(for: Settlement<NewValue, NewError>.of(target))
            schedule { scheduled.end(with: transform(result)) }
            scheduled.leave(&chain)
        }
        return Future<NewValue, NewError>(target)
    }

    /// Resolves `target` with this future's result.
    @inlinable
    func forward(to target: Settlement<Value, Error>, _ chain: inout Chain) {
        switch source {
        case .known(let result):
            target.settle(result, &chain)
        case .shared(let settlement):
            let handler = Handler<Value, Error>(target: target) { result, target, chain in
                Settlement<Value, Error>.of(target).settle(result, &chain)
            }
            if let result = settlement.add(handler) { target.settle(result, &chain) }
        }
    }

    /// Runs `resolve` with the result and `target`: now, if the result is known, otherwise on the thread that resolves
    /// this future. Until then only the handler holds the target, so that a long chain of targets can be released in a
    /// loop.
    @inlinable
    func receive(for target: some PromiseDependent, _ resolve: @escaping Handler<Value, Error>.Resolve) {
        switch source {
        case .known(let result):
            Self.receive(result, target, resolve)
        case .shared(let settlement):
            if let result = settlement.add(Handler(target: target, resolve: resolve)) {
                Self.receive(result, target, resolve)
            }
        }
    }

    @inlinable
    static func receive(
        _ result: Result, _ target: some PromiseDependent, _ resolve: @escaping Handler<Value, Error>.Resolve
    ) {
        guard Nesting.enter() else {
            return Nesting.postpone { receive(result, target, resolve) }
        }
        var chain = Chain()
        resolve(result, target, &chain)
        chain.fire()
        Nesting.leave()
    }
}

extension Settlement {
    /// SAFETY: The target of a handler is the object it was created with, and the closures that receive it know its
    /// type.
    @inlinable
    static func of(_ target: AnyObject) -> Settlement { unsafeDowncast(target, to: Settlement.self) }
}
