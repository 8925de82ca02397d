/// The way of a transformation through a scheduler.
///
/// Where the scheduler runs it inline, its result goes on the chain of the thread that resolves, so that a row of such
/// transformations is a loop too, not one call inside the other.
///
/// SAFETY: The variables are only touched by the thread that created the visit, and by `deinit`.
@usableFromInline
final class Visit<Value: Sendable, Failure: Error>: @unchecked Sendable {
    @usableFromInline let target: Settlement<Value, Failure>
    @usableFromInline let thread: UInt
    @usableFromInline var isInline: Bool
    @usableFromInline var future: Future<Value, Failure>?

    @inlinable
    init(for target: Settlement<Value, Failure>) {
        self.target = target
        thread = MainThread.current
        isInline = true
        future = nil
    }

    @inlinable
    func end(with future: Future<Value, Failure>) {
        if thread == MainThread.current, isInline {
            self.future = future
        } else {
            var chain = Chain()
            future.forward(to: target, &chain)
            chain.fire()
        }
    }

    /// The scheduler has returned.
    @inlinable
    func leave(_ chain: inout Chain) {
        isInline = false
        future.take()?.forward(to: target, &chain)
    }
}
