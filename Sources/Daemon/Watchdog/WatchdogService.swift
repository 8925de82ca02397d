import ServiceLifecycle
import Systemd

/// Feeds the service manager's watchdog, and only with proofs: each ping follows a turn of the claim loop and an answer
/// of the store that were asked for after the ping before. A process that lives while its loop hangs is restarted.
struct WatchdogService: Service {
    /// How often the manager wants to hear from us at least; pings come twice as often.
    let interval: Duration
    let notifier: Notifier
    /// Returns false when there is nothing left to prove; does not return while something hangs.
    let proveProgress: @Sendable () async -> Bool

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while await proveProgress() {
                notifier.send(.watchdog)
                // Only cancellation ends a sleep early, and the next proof with it.
                try? await Task.sleep(for: interval / 2)
            }
        }
    }
}
