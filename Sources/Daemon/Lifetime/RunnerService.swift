import Jobs
import Logging
import Runner
import ServiceLifecycle
import Systemd

/// Runs jobs until the group shuts down, then drains within the limit, and tells the manager that this takes its time.
struct RunnerService: Service {
    let runner: JobRunner
    let notifier: Notifier
    let drainTimeout: @Sendable () -> Duration
    let status: Wakeups
    let logger: Logger

    private enum End { case runner, drain }

    func run() async throws {
        try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask {
                try await runner.run()
                return .runner
            }
            group.addTask {
                do {
                    try await gracefulShutdown()
                    await drain()
                } catch {
                    // Cancelled: the runner has ended by itself, or hurries because this task is cancelled.
                }
                return .drain
            }
            while let end = try await group.next() {
                if end == .runner { group.cancelAll() }
            }
        }
        status.wake()
    }

    private func drain() async {
        let limit = drainTimeout()
        let running = runner.snapshot.running
        logger.notice(
            "stopping; running jobs have \(limit.human) to end",
            metadata: ["HALYARD_EVENT": "daemon-stopping", "HALYARD_RUNNING": "\(running)"])
        notifier.send(.stopping)
        // Cancelled when the drain is over.
        async let _: Void = keepExtending()
        status.wake()
        await runner.drain(limit: limit)

    }

    /// The manager kills what takes longer than it was told; each of these asks for three more pauses.
    private func keepExtending() async {
        let step = Duration.seconds(5)
        repeat {
            notifier.send(.extendTimeout(by: step * 3))
            // Only cancellation ends a sleep early, and the loop with it.
            try? await Task.sleep(for: step)
        } while !Task.isCancelled
    }
}
