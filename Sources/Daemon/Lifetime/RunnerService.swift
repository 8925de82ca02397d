import Jobs
import Logging
import Runner
import ServiceLifecycle
import Systemd

/// Runs jobs until the group shuts down, then drains within the limit, and tells the manager that this takes its time.
struct RunnerService: Service {
    let runner: JobRunner
    let notifier: Notifier
    /// Watches over the end of the whole daemon, from here to the closed database.
    let ending: HangGuard
    /// How long that may take beyond what running jobs are given.
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
                    watchEnd(within: patience, of: "\(error) The daemon has to end, and")
                    throw error
                }
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
        // Interrupted jobs have the grace period, and a store that cannot record their ends has as long again.
        let whole = limit + grace() * 2 + patience
        watchEnd(within: whole, of: "the daemon was told to stop \(whole.human) ago, but")
        // Cancelled when the drain is over.
        async let _: Void = keepExtending(for: whole)
        status.wake()
        await runner.drain(limit: limit)
        // For the last callers and the closing of the database.
        notifier.send(.extendTimeout(by: patience))
    }

    private func watchEnd(within limit: Duration, of what: String) {
        ending.expectEnd(within: limit) {
            "\(what) \(runner.snapshot.whatHangs ?? "the database does not close; a new start recovers")"
        }
    }

    /// The manager kills what takes longer than it was told; each of these asks for three more pauses. Counted as the
    /// manager and the drain count, on a clock that stands still while the machine sleeps.
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
