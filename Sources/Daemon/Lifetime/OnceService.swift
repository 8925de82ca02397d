import Jobs
import Runner
import ServiceLifecycle

/// Stops the daemon when the store is at rest (``JobStore/isAtRest(now:)``). Jobs scheduled for later, including retries,
/// remain in the store, and so does the rest of a request that is stuck: the log says why, and the next start retries it.
struct OnceService: Service {
    let store: any JobStore
    let runner: JobRunner
    let isReady: @Sendable () -> Void
    let stop: @Sendable () -> Void

    func run() async throws {
        let changes = Wakeups()
        let observation = store.observe { _ in changes.wake() }
        defer { observation.cancel() }
        guard await runner.waitUntilReady() else { return }
        isReady()
        changes.wake()
        try await changes.forEach(retryingAfter: .seconds(1)) { () throws(StoreError) in
            if try await store.isAtRest(now: wallClock()) { stop() }
        }
    }
}
