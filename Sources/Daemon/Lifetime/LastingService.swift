import ServiceLifecycle

/// A service that may have nothing more to do before the group shuts down. The group takes a service that returns early
/// for a failure, so this one stays until its turn comes.
struct LastingService: Service {
    let base: any Service

    func run() async throws {
        try await base.run()
        try? await gracefulShutdown()  // Cancellation ends it as well.
    }
}
