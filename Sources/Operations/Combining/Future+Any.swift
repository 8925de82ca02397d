import OperationTypes
import Synchronization

extension Future {
    /// A future with the value of the first future to succeed. If several have already succeeded, the leftmost wins. If
    /// all fail, it fails with the failure that came last. Without futures, it stays pending.
    public static func any(_ futures: Future...) -> Future { any(futures) }

    /// A future with the value of the first future to succeed. If several have already succeeded, the leftmost wins. If
    /// all fail, it fails with the failure that came last. Without futures, it stays pending.
    public static func any(_ futures: [Future]) -> Future {
        for future in futures {
            if case .success(let value)? = future.result { return Future(value: value) }
        }
        let target = Settlement<Value, Error>(resolvers: futures.count)
        let remaining = Countdown(futures.count)
        for future in futures {
            future.receive(for: target) { result, target, chain in
                let isLast = remaining.step()
                // Another future may still succeed.
                if case .failure = result, !isLast { return BrokenPromise.of(Settlement<Value, Error>.of(target)) }
                Settlement<Value, Error>.of(target).settle(result, &chain)
            }
        }
        return Future(target)
    }

    /// Starts all of `contestants` now, on this thread, and returns a future of the first result, success or failure.
    /// Each contestant gets a token that cancels as soon as there is a result, so that the losers stop. The token also
    /// cancels when `cancellation` cancels.
    public static func race(
        cancellation: CancellationToken = .none, _ contestants: @Sendable (CancellationToken) -> Future...
    ) -> Future {
        let source = CancellationTokenSource(linkedTo: cancellation)
        return first(contestants.map { $0(source.token) }).finally { source.cancel() }
    }

    /// Runs `body` when this future is resolved, whatever the result, on the thread that would run a transformation.
    /// The returned future is resolved after that, with the same result.
    @inlinable
    public func finally(_ body: @escaping @Sendable () -> Void) -> Future {
        if let result = transformable {
            body()
            return Future(result: result)
        }
        return later { result in
            body()
            return result
        }
    }
}

private final class Countdown: Sendable {
    private let number: Atomic<Int>
    init(_ number: Int) { self.number = Atomic(number) }
    /// - Returns: True for the last step.
    func step() -> Bool { number.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
