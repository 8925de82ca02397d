import OperationTypes

/// Work took longer than its time limit.
public struct TimeoutError: Error, Hashable, CustomStringConvertible {
    /// The time limit.
    public let limit: Duration

    public init(limit: Duration) { self.limit = limit }

    public var description: String { "No result came within \(limit)." }
}

extension Future {
    /// This future, or `failure` if it is still pending after `duration`. The work continues; cancel it with the token
    /// it was started with.
    public func timeout(
        after duration: Duration, clock: any Clock<Duration> = ContinuousClock(), failure: Error
    ) -> Future {
        if let result { return Future(result: result) }
        // This future or the alarm resolves it. The alarm counts as a resolver that is never released, so the target
        // cannot be abandoned.
        let target = Settlement<Value, Error>(resolvers: 2)
        let alarm = Alarm()
        receive(for: target) { result, target, chain in
            alarm.cancel()
            Settlement.of(target).settle(result, &chain)
        }
        alarm.set(after: duration, clock: clock) { target.resolve(.failure(failure)) }
        return Future(target)
    }

    /// This future, or `failure` if it is still pending at `deadline`.
    public func timeout<C: Clock<Duration>>(at deadline: C.Instant, clock: C, failure: Error) -> Future {
        timeout(after: clock.now.duration(to: deadline), clock: clock, failure: failure)
    }

    /// This future, or `failure` if it is still pending at `deadline`.
    public func timeout(at deadline: ContinuousClock.Instant, failure: Error) -> Future {
        timeout(at: deadline, clock: ContinuousClock(), failure: failure)
    }
}

extension Future where Error == any Swift.Error {
    /// This future, or a ``TimeoutError`` if it is still pending after `duration`.
    public func timeout(after duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Future {
        timeout(after: duration, clock: clock, failure: TimeoutError(limit: duration))
    }
}

extension Future where Value == Void, Error == CancellationError {
    /// Succeeds on a global queue, not before `duration` has passed. When `cancellation` cancels, it fails at once and
    /// ends the wait.
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
