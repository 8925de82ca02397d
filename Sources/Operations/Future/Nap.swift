import Synchronization

/// The sleep of one task, which lasts until ``end()`` is called.
///
/// The state is one atomic word: no task sleeps yet, the sleep is over, or the continuation of the sleeping task.
@usableFromInline
struct Nap: ~Copyable, Sendable {
    private static let none: UInt = 0
    private static let over: UInt = 1

    private let word = Atomic(Nap.none)

    @usableFromInline init() {}

    var isOver: Bool { word.load(ordering: .acquiring) == Self.over }

    /// Ends the sleep. Later calls do nothing.
    @usableFromInline
    borrowing func end() {
        let before = word.exchange(Self.over, ordering: .acquiringAndReleasing)
        guard before != Self.none, before != Self.over else { return }
        // SAFETY: Any other value is a continuation, and the exchange returns it to one caller only.
        unsafeBitCast(before, to: UnsafeContinuation<Void, Never>.self).resume()
    }

    /// Suspends the task until ``end()`` is called; returns at once if it has been. May be called once.
    @usableFromInline
    borrowing func wait() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            // SAFETY: A continuation is one aligned pointer, so it equals neither of the two constants.
            let isAsleep = word.compareExchange(
                expected: Self.none, desired: unsafeBitCast(continuation, to: UInt.self),
                ordering: .acquiringAndReleasing
            ).exchanged
            if !isAsleep { continuation.resume() }
        }
    }
}
