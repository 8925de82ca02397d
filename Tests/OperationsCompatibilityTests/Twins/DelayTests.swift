import Dispatch
import OperationsCompatibility
import Signals
import Synchronization
import Testing

@Suite struct DelayTests {
    @Test func firstAttemptIsSynchronousAndAttemptsIsTheTotal() async {
        let calls = Mutex(0)
        let asked = Mutex<[Int]>([])
        let delays = Mutex<[Int]>([])
        let delay = Future<Int, Failed>.Delay.custom { attempt in
            delays.withLock { $0.append(attempt) }
            return 0
        }
        let ask = { @Sendable (error: Failed) in
            asked.withLock { $0.append(error.number) }
            return true
        }
        let future = Future.retry(attempts: 3, delay: delay, shouldRetry: ask) {
            let call = calls.withLock {
                $0 += 1
                return $0
            }
            return Future<Int, Failed>(error: Failed(call))
        }
        #expect(calls.withLock { $0 } >= 1)
        #expect(await future.settled() == .failure(Failed(3)))
        #expect(calls.withLock { $0 } == 3)
        #expect(asked.withLock { $0 } == [1, 2], "not called after the last permitted attempt")
        #expect(delays.withLock { $0 } == [1, 2])
    }

    /// A single attempt used to be an assertion failure.
    @Test func oneAttemptIsASingleCall() {
        let calls = Shared(0)
        let future = Future.retry(attempts: 1, delay: .seconds(1)) {
            calls.value += 1
            return Future<Int, Failed>(error: Failed())
        }
        #expect(future.error == Failed())
        #expect(calls.value == 1)
    }

    @Test func shouldRetryEndsIt() {
        let never = { @Sendable (_: Failed) in false }
        let future = Future.retry(attempts: 5, delay: .seconds(0), shouldRetry: never) {
            Future<Int, Failed>(error: Failed(1))
        }
        #expect(future.error == Failed(1))
    }

    @Test func exponentialDelayIsCapped() async {
        let starts = Mutex<[UInt64]>([])
        let future = Future.retry(
            attempts: 4, delay: .exponential(initial: 0.01, multiplier: 2, maxDelay: 0.03)
        ) {
            starts.withLock { $0.append(DispatchTime.now().uptimeNanoseconds) }
            return Future<Int, Failed>(error: Failed())
        }
        _ = await future.settled()
        let times = starts.withLock { $0 }
        let waits = zip(times.dropFirst(), times).map { ($0 - $1) / 1_000_000 }
        #expect(waits.count == 3)
        for (wait, least) in zip(waits, [10, 20, 30] as [UInt64]) { #expect(wait >= least) }
    }
}
