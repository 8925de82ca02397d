import Jobs
import OperationTypes

/// A host without a process: the test sends what a process would. All of that is handled when the call returns.
final class SilentHost: KindHost {
    private let begun = Latch<HostedAttempt>()

    /// Waits for the first attempt.
    func attempt() async -> HostedAttempt { await begun.uncancellableWait() }

    func run(_ attempt: HostedAttempt) { begun.open(with: attempt) }
    func flush() {}
    func stop(_ lease: Lease, _ reason: HostedStop) {}
    func abandon(_ lease: Lease, after grace: Duration) {}
    func recorded(_ lease: Lease, kind: String) {}
    var room: Int { 100 }
    var roomForSuspects: Int? { nil }
    var problem: String? { nil }
    func observeRoom(_ body: @escaping @Sendable () -> Void) {}
    func refusals(of inputs: [PlannedInput]) async -> [InputRefusal?] { inputs.map { _ in nil } }
    func cleanUp(
        asking state: @escaping @Sendable (JobID, _ kind: String) async throws(StoreError) -> JobState?
    ) async -> Bool { false }
}
