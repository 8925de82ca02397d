import Runner
import ServiceLifecycle

/// Fires schedules until the group shuts down. It ends before the runner drains, so that a stopping daemon
/// enqueues nothing new.
struct ScheduleService: Service {
    let runner: ScheduleRunner

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await runner.run() }
    }
}
