import OperationTypes

extension Future {
    /// The result, when a transformation can be applied to it here and now.
    @inlinable
    var transformable: Result? { scheduler == nil ? result : nil }

    /// Without `observe(on:)`: what runs no code of the caller's needs no place to run it.
    @inlinable
    var unscheduled: Future { Future(source) }

    @inlinable
    public func map<NewValue>(_ transform: @escaping (Value) -> NewValue) -> Future<NewValue, Error> {
        if let result = transformable { return .init(result: result.map(transform)) }
        return later { $0.map(transform) }
    }

    @inlinable
    public func mapError<NewError>(_ transform: @escaping (Error) -> NewError) -> Future<Value, NewError> {
        if let result = transformable { return .init(result: result.mapError(transform)) }
        return later { $0.mapError(transform) }
    }

    @inlinable
    public func flatMap<NewValue>(_ transform: @escaping (Value) -> Future<NewValue, Error>) -> Future<NewValue, Error>
    {
        if let result = transformable { return Self.flatten(result, transform) }
        return laterFlat { Self.flatten($0, transform) }
    }

    @inlinable
    public func flatMap<NewValue>(_ transform: @escaping (Value) -> Future<NewValue, Never>) -> Future<NewValue, Error>
    {
        flatMap { transform($0).castError(Error.self) }
    }

    @inlinable
    public func flatMapError<NewError>(
        _ transform: @escaping (Error) -> Future<Value, NewError>
    ) -> Future<Value, NewError> {
        if let result = transformable { return Self.flattenError(result, transform) }
        return laterFlat { Self.flattenError($0, transform) }
    }

    /// Forgets the value.
    @inlinable
    public func asVoid() -> Future<Void, Error> { unscheduled.map { _ in } }

    /// A future that never fails: its value is this one's result, whichever it is.
    @inlinable
    public func materialize() -> Future<Result, Never> {
        if let result { return .init(value: result) }
        return unscheduled.later { .success($0) }
    }
}

extension Future where Error == Never {
    @inlinable
    public func flatMap<NewValue, NewError>(
        _ transform: @escaping (Value) -> Future<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        castError(NewError.self).flatMap(transform)
    }

    /// Of the overloads, the one for a future that cannot fail given another that cannot.
    @inlinable
    public func flatMap<NewValue>(_ transform: @escaping (Value) -> Future<NewValue, Never>) -> Future<NewValue, Never>
    {
        if let result = transformable { return Self.flatten(result, transform) }
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
    /// What `transform` throws is the failure.
    @inlinable
    public func tryMap<NewValue>(_ transform: @escaping (Value) throws -> NewValue) -> Future<NewValue, Error> {
        if let result = transformable { return .init(result: Self.attempt(result, transform)) }
        return later { Self.attempt($0, transform) }
    }

    @inlinable
    static func attempt<NewValue>(
        _ result: Result, _ transform: (Value) throws -> NewValue
    ) -> Swift.Result<NewValue, Error> {
        Swift.Result { try transform(result.get()) }
    }
}

// MARK: - When the result comes

extension Future {
    @inlinable
    static func flatten<NewValue>(
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

    /// The future of the transformed result: transformed by the resolving thread, or where `observe(on:)` says.
    @inlinable
    func later<NewValue, NewError>(
        _ transform: @escaping (Result) -> Swift.Result<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        if let scheduler { return scheduled(scheduler) { .init(result: transform($0)) } }
        let target = Future<NewValue, NewError>.Promise()
        receive(for: target) { result, target, chain in
            Future<NewValue, NewError>.Promise.of(target).settle(transform(result), &chain)
        }
        return Future<NewValue, NewError>(target)
    }

    /// As ``later(_:)``, for a transformation whose result is another future.
    @inlinable
    func laterFlat<NewValue, NewError>(
        _ transform: @escaping (Result) -> Future<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        if let scheduler { return scheduled(scheduler, transform) }
        let target = Future<NewValue, NewError>.Promise()
        receive(for: target) { result, target, chain in
            transform(result).forward(to: Future<NewValue, NewError>.Promise.of(target), &chain)
        }
        return Future<NewValue, NewError>(target)
    }

    @inlinable
    func scheduled<NewValue, NewError>(
        _ scheduler: Handoff<ScheduleWork>, _ transform: @escaping (Result) -> Future<NewValue, NewError>
    ) -> Future<NewValue, NewError> {
        let target = Future<NewValue, NewError>.Promise()
        receive(for: target) { result, target, chain in
            let visit = Visit(for: Future<NewValue, NewError>.Promise.of(target))
            scheduler.value { visit.end(with: transform(result)) }
            visit.leave(&chain)
        }
        return Future<NewValue, NewError>(target)
    }

    /// Resolves `target` with this future's result.
    @inlinable
    func forward(to target: Promise, _ chain: inout Chain) {
        receive(for: target, &chain) { result, target, chain in Promise.of(target).settle(result, &chain) }
    }

    /// Runs `resolve` with the result and `target`, now or on the thread that resolves. Until then nothing but the handler
    /// holds the target, which can so be released in a loop.
    @inlinable
    func receive(
        for target: AnyObject, _ chain: inout Chain, _ resolve: @escaping (Result, AnyObject, inout Chain) -> Void
    ) {
        switch source {
        case .known(let result):
            resolve(result, target, &chain)
        case .promised(let promise):
            if let result = promise.add(Handler(target: target, resolve: resolve)) { resolve(result, target, &chain) }
        }
    }

    @inlinable
    func receive(for target: AnyObject, _ resolve: @escaping (Result, AnyObject, inout Chain) -> Void) {
        var chain = Chain()
        receive(for: target, &chain, resolve)
        chain.fire()
    }
}

extension Future.Promise {
    /// SAFETY: The target of a handler is what it was made with; the closures that take it say what that was.
    @inlinable
    static func of(_ target: AnyObject) -> Future.Promise { unsafeDowncast(target, to: Future.Promise.self) }
}
