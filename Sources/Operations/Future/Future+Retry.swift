import OperationTypes

extension Future {
    /// Calls `work` until it succeeds or `policy` stops. The future then succeeds with that value, or fails with the
    /// last error.
    ///
    /// The first call is made now, on this thread, further calls on a global queue. A failure that is not an
    /// `OperationFailure` counts as retryable, with an empty code. After `cancellation` cancels, no attempt begins, and
    /// a wait ends at once with the last error.
    ///
    /// - Parameters:
    ///   - clock: The clock that measures the waits between attempts. Tests use a ``ManualClock``.
    ///   - random: Returns a number from `0..<1`, which the jitter uses.
    public static func retry(
        _ policy: RetryPolicy, cancellation: CancellationToken = .none, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }, _ work: @escaping @Sendable () -> Future
    ) -> Future {
        retry(cancellation: cancellation, clock: clock, work) { error, attempt in
            switch policy.decide(afterTry: attempt, failure: error, random: random()) {
            case .stop: nil
            case .retry(let wait): wait
            }
        }
    }

    /// Calls `work` until it succeeds or `wait` returns nil.
    ///
    /// - Parameter wait: Returns the wait before the next attempt, for an error and the number of the failed attempt,
    ///   from 1; nil to stop.
    package static func retry(
        cancellation: CancellationToken = .none, clock: any Clock<Duration> = ContinuousClock(),
        _ work: @escaping @Sendable () -> Future, wait: @escaping @Sendable (Error, Int) -> Duration?
    ) -> Future {
        let target = Settlement<Value, Error>()
        Attempts(work: work, wait: wait, cancellation: cancellation, clock: clock, target: target).start(1)
        return Future(target)
    }

    /// A series of attempts, one after the other.
    private struct Attempts: Sendable {
        let work: @Sendable () -> Future
        let wait: @Sendable (Error, Int) -> Duration?
        let cancellation: CancellationToken
        let clock: any Clock<Duration>
        let target: Settlement<Value, Error>

        func start(_ attempt: Int) {
            work().receive(for: target) { result, target, chain in
                guard case .failure(let error) = result, !cancellation.isCancelling,
                    let pause = wait(error, attempt)
                else { return Settlement.of(target).settle(result, &chain) }
                self.pause(pause, after: attempt, result)
            }
        }

        private func pause(_ pause: Duration, after attempt: Int, _ result: Result) {
            let next = Once<@Sendable () -> Void> { start(attempt + 1) }
            let alarm = Alarm()
            let registration = cancellation.register {
                alarm.cancel()
                if next.take() != nil { target.resolve(result) }
            }
            alarm.set(after: pause, clock: clock) {
                registration.unregister()
                next.take()?()
            }
        }
    }
}
