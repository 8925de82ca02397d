import OperationTypes

/// The error of work that took longer than its time limit.
public struct TimeoutError: Error, Hashable, CustomStringConvertible {
    /// The time limit.
    public let limit: Duration

    /// Creates the error for a time limit.
    public init(limit: Duration) { self.limit = limit }

    public var description: String { "There was no result within \(limit)." }
}

extension Future {
    /// A future with this future's result, or with `failure` if this future is still pending after `duration`. The work
    /// continues; to stop it, cancel the token with which it was started.
    public func timeout(
        after duration: Duration, clock: any Clock<Duration> = ContinuousClock(), failure: Error
    ) -> Future {
        if let result { return Future(result: result) }
        // This future or the alarm resolves it. The alarm counts as a resolver that is never released, so the target
        // never becomes a broken promise.
        let target = Settlement<Value, Error>(resolvers: 2)
        let alarm = Alarm()
        receive(for: target) { result, target, chain in
            alarm.cancel()
            Settlement.of(target).settle(result, &chain)
        }
        alarm.set(after: duration, clock: clock) { target.resolve(.failure(failure)) }
        return Future(target)
    }

    /// A future with this future's result, or with `failure` if this future is still pending at `deadline`. The work
    /// continues.
    public func timeout<C: Clock<Duration>>(at deadline: C.Instant, clock: C, failure: Error) -> Future {
        timeout(after: clock.now.duration(to: deadline), clock: clock, failure: failure)
    }

    /// A future with this future's result, or with `failure` if this future is still pending at `deadline`. The work
    /// continues.
    public func timeout(at deadline: ContinuousClock.Instant, failure: Error) -> Future {
        timeout(at: deadline, clock: ContinuousClock(), failure: failure)
    }
}

extension Future where Error == any Swift.Error {
    /// A future with this future's result, or with a ``TimeoutError`` if this future is still pending after `duration`.
    /// The work continues.
    public func timeout(after duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Future {
        timeout(after: duration, clock: clock, failure: TimeoutError(limit: duration))
    }
}

extension Future where Value == Void, Error == CancellationError {
    /// A future that succeeds on a global queue, not before `duration` has passed. If `cancellation` cancels first, the
    /// future fails at once and the wait ends.
    public static func after(
        _ duration: Duration, cancellation: CancellationToken, clock: any Clock<Duration> = ContinuousClock()
    ) -> Future<Void, CancellationError> {
        let promise = Promise()
        let alarm = Alarm()
        let registration = cancellation.register {
            alarm.cancel()
            promise.fail(error: CancellationError())
        }
        alarm.set(after: duration, clock: clock) {
            registration.unregister()
            promise.succeed(value: ())
        }
        return promise.future
    }
}
