import Synchronization

/// An event that happens once, and that one task may wait for.
///
/// The state is one atomic word: no task waits yet, the event has happened, or the continuation of the waiting task.
@usableFromInline
struct OneShotEvent: ~Copyable, Sendable {
    private static let none: UInt = 0
    private static let signalled: UInt = 1

    private let word = Atomic(OneShotEvent.none)

    @usableFromInline init() {}

    var isSignalled: Bool { word.load(ordering: .acquiring) == Self.signalled }

    /// Resumes the waiting task. Later calls do nothing.
    @usableFromInline
    borrowing func signal() {
        let before = word.exchange(Self.signalled, ordering: .acquiringAndReleasing)
        guard before != Self.none, before != Self.signalled else { return }
        // SAFETY: Any other value is a continuation, and the exchange returns it to one caller only.
        unsafeBitCast(before, to: UnsafeContinuation<Void, Never>.self).resume()
    }

    /// Suspends the task until ``signal()`` is called; returns at once if it has been. May be called once.
    @usableFromInline
    borrowing func wait() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            // SAFETY: A continuation is one aligned pointer, so it equals neither of the two constants.
            let isWaiting = word.compareExchange(
                expected: Self.none, desired: unsafeBitCast(continuation, to: UInt.self),
                ordering: .acquiringAndReleasing
            ).exchanged
            if !isWaiting { continuation.resume() }
        }
    }
}
