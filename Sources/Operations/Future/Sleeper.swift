/// A task that waits for a future for which another task already waits. It reads the result from the future when it
/// wakes.
@usableFromInline
final class Sleeper: Sendable {
    private let future: Any.Type
    private let nap = Nap()

    /// - Parameter future: The type that the report of a leak names.
    @usableFromInline
    init(for future: Any.Type) { self.future = future }

    @usableFromInline
    func wake() { nap.end() }

    /// Waits until ``wake()`` is called or the task is cancelled. On cancellation, `onCancel` runs before the wait
    /// ends.
    @usableFromInline
    func sleep(onCancel: @Sendable () -> Void) async {
        await withTaskCancellationHandler {
            await nap.wait()
        } onCancel: {
            onCancel()
            wake()
        }
    }
}

extension Sleeper: Abandonable {
    @usableFromInline
    func abandon(_ abandonment: inout Abandonment) {
        if !nap.isOver { Claim.report("A task waits until it is cancelled", of: "\(future)") }
    }
}
