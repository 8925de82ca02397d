/// A transformation that runs through a scheduler.
///
/// If the scheduler runs it inline, its result goes on the chain of the resolving thread, so that a series of such
/// transformations also runs in a loop instead of nested calls.
///
/// SAFETY: Only the thread that created the object and `deinit` access the variables.
@usableFromInline
final class ScheduledTransform<Value: Sendable, Failure: Error>: @unchecked Sendable {
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

    /// Called when the scheduler has returned. Passes on the result of a transformation that ran inline.
    @inlinable
    func leave(_ chain: inout Chain) {
        isInline = false
        future.take()?.forward(to: target, &chain)
    }
}
