import Jobs
import Runner
import ServiceLifecycle

/// Stops the daemon when no job is running, none is ready in a queue that is not paused, and none is due. Jobs
/// scheduled for later, including retries, remain in the store.
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
        for await _ in changes.stream.cancelOnGracefulShutdown() {
            if try await isDone() { stop() }
        }
    }

    private func isDone() async throws(StoreError) -> Bool {
        let isIdle = try await store.queues().allSatisfy { queue in
            queue.counts[.running] == 0 && (queue.counts[.ready] == 0 || queue.pausedAt != nil)
        }
        guard isIdle, runner.snapshot.running == 0 else { return false }
        guard let next = try await store.nextDueAt() else { return true }
        return next > wallClock()
    }
}
