/// The wait before the next request after the store could not answer: 100 ms, doubling up to 5 s.
struct Backoff {
    var retryAt: Duration?
    private var wait = Duration.milliseconds(100)

    mutating func failed(now: Duration) { retryAt = now + next() }

    /// The wait after this failure.
    mutating func next() -> Duration {
        defer { wait = min(wait * 2, .seconds(5)) }
        return wait
    }
}
