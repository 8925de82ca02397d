import Logging
import ServiceLifecycle
import UnixSignals

/// Handles signals. SIGTERM and SIGINT drain; a second one interrupts the running jobs. SIGHUP reloads.
struct SignalService: Service {
    /// Trapped before the daemon reports ready. Signals wait in this sequence until the service runs.
    let signals: UnixSignalsSequence
    let stop: @Sendable () -> Void
    let interrupt: @Sendable () -> Void
    let reload: @Sendable () async -> Void
    let logger: Logger

    static func trap() async -> UnixSignalsSequence {
        await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    }

    func run() async throws {
        var isStopping = false
        for await signal in signals.cancelOnGracefulShutdown() {
            if signal == .sighup {
                await reload()
            } else if isStopping {
                logger.notice("second \(signal): interrupting running jobs")
                interrupt()
            } else {
                isStopping = true
                stop()
            }
        }
    }
}
