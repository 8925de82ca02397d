import ServiceLifecycle

/// A service that may run out of work before the group shuts down. The group would shut down when a service
/// returns, so this one waits for the shutdown.
struct UntilShutdownService: Service {
    let base: any Service

    func run() async throws {
        try await base.run()
        try? await gracefulShutdown()  // Cancellation also ends the wait.
    }
}
