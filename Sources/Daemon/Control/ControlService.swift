import API
import Runner
import ServiceLifecycle

/// Serves the control socket once the runner turns, and tells when both are ready.
struct ControlService: Service {
    let server: ControlServer
    let runner: JobRunner
    let isReady: @Sendable () -> Void

    func run() async throws {
        if await runner.waitUntilReady() { isReady() }
        // Also where the runner never turned: the server closes the socket.
        try await server.run()
    }
}
