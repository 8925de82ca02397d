import Runner
import ServiceLifecycle

/// Fires schedules until the group shuts down, which it does before the runner drains: nothing new is accepted then.
struct ScheduleService: Service {
    let scheduler: Scheduler

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await scheduler.run() }
    }
}
