import Glibc
import Jobs
import Runner
import ServiceLifecycle

/// Stops the daemon when the store is at rest (``JobStore/isAtRest(now:)``). Jobs scheduled for later, including retries,
/// remain in the store, and so does the rest of a request that is stuck: the log says why, and the next start retries it.
///
/// The daemon does not wait forever for a worker that does not run: when only jobs of such workers are left, it fails.
struct OnceService: Service {
    let store: any JobStore
    let runner: JobRunner
    let workers: WorkerSet
    let isReady: @Sendable () -> Void
    let stop: @Sendable () -> Void

    func run() async throws {
        let changes = Wakeups()
        let observation = store.observe { _ in changes.wake() }
        defer { observation.cancel() }
        workers.observeRests { changes.wake() }
        guard await runner.waitUntilReady() else { return }
        isReady()
        changes.wake()
        var faults: [String] = []
        try await changes.forEach(retryingAfter: .seconds(1)) { () throws(StoreError) in
            if try await store.isAtRest(now: now(of: store)) { return stop() }
            guard !workers.lastingFaults.isEmpty, isIdle, await runner.proveProgress(), isIdle else { return }
            // The exchange that proved progress claimed nothing, so all remaining ready jobs wait for a worker.
            let lasting = workers.lastingFaults
            if lasting.isEmpty { return }
            if try await store.isAtRest(now: now(of: store)) { return stop() }
            faults = lasting
            stop()
        }
        guard !faults.isEmpty else { return }
        throw DaemonFailure(
            .inputOutput,
            "Some jobs still wait for a worker: \(faults.joined(separator: "; ")). Correct the worker, then run the jobs again.",
            errno: ENOEXEC)
    }

    /// Whether no attempt runs, and all ends are recorded.
    private var isIdle: Bool {
        let snapshot = runner.snapshot
        return snapshot.running == 0 && snapshot.unrecorded == 0
    }
}
