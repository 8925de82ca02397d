import Jobs
import Logging
import Runner
import ServiceLifecycle
import Systemd

/// Runs jobs until the group shuts down, then drains within the limit and asks the service manager for the time
/// this needs.
struct RunnerService: Service {
    let runner: JobRunner
    let notifier: Notifier
    /// Reports a hang if the daemon does not end in time. It covers the time from the drain to the closing of
    /// the database.
    let ending: HangGuard
    /// How long the daemon may take to end, in addition to the drain and the grace periods.
    let patience: Duration
    let drainTimeout: @Sendable () -> Duration
    let grace: @Sendable () -> Duration
    let status: Wakeups
    let logger: Logger

    private enum End { case runner, drain }

    func run() async throws {
        try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask {
                do {
                    try await runner.run()
                } catch {
                    watchEnd(within: patience, of: "\(error) The daemon must end, but")
                    throw error
                }
                return .runner
            }
            group.addTask {
                do {
                    try await gracefulShutdown()
                    await drain()
                } catch {
                    // Cancelled: the runner has ended by itself, or it interrupts its jobs because this task was
                    // cancelled.
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
            "stopping; running jobs have \(limit.human) to finish",
            metadata: ["HALYARD_EVENT": "daemon-stopping", "HALYARD_RUNNING": "\(running)"])
        notifier.send(.stopping)
        // Interrupted jobs have the grace period, and the store has the same time again to record how they
        // ended.
        let whole = limit + grace() * 2 + patience
        watchEnd(within: whole, of: "the daemon was asked to stop \(whole.human) ago, but")
        // Returning from this function cancels the task.
        async let _: Void = keepExtending(for: whole)
        status.wake()
        await runner.drain(limit: limit)
        // Time for the last callers and for closing the database.
        notifier.send(.extendTimeout(by: patience))
    }

    private func watchEnd(within limit: Duration, of what: String) {
        ending.expectEnd(within: limit) {
            "\(what) \(runner.snapshot.whatHangs ?? "the database does not close; a restart recovers")"
        }
    }

    /// Extends the service manager's timeout until `whole` has passed, since the manager kills a process that
    /// exceeds it. Each message extends the timeout to three steps from now. Like the manager and the drain, it
    /// uses a clock that stops while the machine sleeps.
    private func keepExtending(for whole: Duration) async {
        let step = Duration.seconds(5)
        let clock = SuspendingClock()
        let end = clock.now.advanced(by: whole)
        repeat {
            notifier.send(.extendTimeout(by: step * 3))
            do {
                try await Task.sleep(for: step, clock: clock)
            } catch {
                return
            }
        } while clock.now < end
    }
}
