import ServiceLifecycle
import Systemd

/// Pings the service manager's watchdog only after a proof of progress: a turn of the claim loop and an answer
/// from the store, both requested after the previous ping. If a proof does not come in time, the service
/// reports what hangs, shortly before the manager would end the process without a reason.
struct WatchdogService: Service {
    /// The longest time between two pings that the manager allows. The service pings twice as often.
    let interval: Duration
    let notifier: Notifier
    let hang: HangGuard
    /// Waits for the first turn of the claim loop; returns false if it never came. Until then, the timeout of
    /// the start applies.
    let waitUntilReady: @Sendable () async -> Bool
    /// Returns whether there was progress. Also returns false if nothing is left to prove. Does not return
    /// while something hangs.
    let proveProgress: @Sendable () async -> Bool
    /// Returns why there is no proof; nil if nothing is left to prove.
    let whatHangs: @Sendable () -> String?

    func run() async throws {
        await cancelWhenGracefulShutdown {
            guard await waitUntilReady() else { return }
            while await feed() {}
            hang.ended()
        }
    }

    /// - Returns: False if nothing is left to prove.
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
            // The proof failed twice, a quarter of the interval apart: no slot became free in between.
            if refusals == 2 { hang.report(reason) }
            guard await pause(interval / 4) else { return false }
        }
    }

    /// - Returns: False if the task was cancelled.
    private func pause(_ time: Duration) async -> Bool {
        do {
            try await Task.sleep(for: time)
            return true
        } catch {
            return false
        }
    }
}
