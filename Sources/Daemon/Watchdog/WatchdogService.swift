import ServiceLifecycle
import Systemd

/// Feeds the service manager's watchdog, and only with proofs: each ping follows a turn of the claim loop and an answer
/// of the store that were asked for after the ping before. When a proof does not come, the manager is told what hangs,
/// a moment before it would end the process without knowing why.
struct WatchdogService: Service {
    /// How often the manager wants to hear from us at least; pings come twice as often.
    let interval: Duration
    let notifier: Notifier
    let hang: HangGuard
    /// Returns false when the first turn never came. Until then the limit of the start counts.
    let waitUntilReady: @Sendable () async -> Bool
    /// Returns false when there is no progress, or nothing left to prove; does not return while something hangs.
    let proveProgress: @Sendable () async -> Bool
    /// What keeps the proof from coming; nil when nothing is left to prove.
    let whatHangs: @Sendable () -> String?

    func run() async throws {
        await cancelWhenGracefulShutdown {
            guard await waitUntilReady() else { return }
            while await feed() {}
            hang.ended()
        }
    }

    /// - Returns: False when there is nothing left to prove.
    private func feed() async -> Bool {
        var refusals = 0
        while true {
            hang.expectEnd(within: interval * 3 / 8, whatHangs)
            let isProved = await proveProgress()
            if isProved {
                hang.ended()
                notifier.send(.watchdog)
                return await pause(interval / 2)
            }
            guard !Task.isCancelled, let reason = whatHangs() else { return false }
            hang.pause()
            refusals += 1
            // Seen twice, a quarter of the interval apart: no slot came free meanwhile.
            if refusals == 2 { hang.tell(reason) }
            guard await pause(interval / 4) else { return false }
        }
    }

    /// - Returns: False when the task was cancelled.
    private func pause(_ time: Duration) async -> Bool {
        do {
            try await Task.sleep(for: time)
            return true
        } catch {
            return false
        }
    }
}
