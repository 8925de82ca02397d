import API
import Runner
import ServiceLifecycle

/// Serves the control socket when the claim loop runs, and reports that the daemon is ready.
struct ControlService: Service {
    let server: ControlServer
    let runner: JobRunner
    let isReady: @Sendable () -> Void

    func run() async throws {
        if await runner.waitUntilReady() { isReady() }
        // Run the server even if the claim loop never started, because the server closes the socket.
        try await server.run()
    }
}
