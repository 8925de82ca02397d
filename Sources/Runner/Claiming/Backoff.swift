/// The wait before the next exchange after the store could not answer: 100 ms, doubling up to 5 s.
struct Backoff {
    var retryAt: Duration?
    private var wait = Duration.milliseconds(100)

    mutating func failed(now: Duration) {
        retryAt = now + wait
        wait = min(wait * 2, .seconds(5))
    }
}
