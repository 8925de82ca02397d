import PostgreSQL
import Synchronization

/// The thread of a ``Rotor``. It looks when jobs are worked on or a life is renewed, so a store without a daemon makes
/// no looks.
final class RotationThread: Sendable {
    private let thread: RequestThread<Rotor>
    private let pause: Duration
    private let nextLook = Mutex(ContinuousClock.now)

    init(_ thread: RequestThread<Rotor>, pause: Duration) {
        self.thread = thread
        self.pause = pause
    }

    /// Looks at the hot tables in the background, unless the last look was a moment ago.
    func lookIfDue() {
        let now = ContinuousClock.now
        let isDue = nextLook.withLock { next in
            if now < next { return false }
            next = now + pause
            return true
        }
        if isDue { thread.put(NoteRequest { (rotor) throws(PostgresError) in try rotor.look() }) }
    }

    func close() async { await thread.close() }
}
