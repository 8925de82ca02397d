import ServiceLifecycle
import Systemd

/// Pings the service manager's watchdog only after a proof of progress: a turn of the claim loop and an answer
/// from the store, both requested after the previous ping. If a proof does not come in time, the service
/// reports what hangs, shortly before the manager would end the process without a reason.
///
/// The service also pings while the store waits for its database server, for at most ``serverPatience``. A restart would
/// end the running jobs, and would not help.
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
    /// Whether the claim loop waits for a database server.
    var awaitsServer: @Sendable () -> Bool = { false }
    /// How long a wait for a server counts as progress. The store gives up earlier, and reports that the server does not
    /// answer.
    var serverPatience = Duration.seconds(120)

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
            let isProved = await prove()
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

    /// Waits for a proof of progress, and pings while the claim loop only waits for a server.
    private func prove() async -> Bool {
        await withTaskGroup(of: Bool?.self) { group in
            let begin = ContinuousClock.now
            group.addTask { await proveProgress() }
            group.addTask { await elapse(interval / 8) }
            while let proof = await group.next() {
                if let proof {
                    group.cancelAll()
                    return proof
                }
                group.addTask { await elapse(interval / 8) }
                guard awaitsServer(), .now - begin < serverPatience else { continue }
                hang.expectEnd(within: interval * 3 / 8, whatHangs)
                notifier.send(.watchdog)
            }
            return false
        }
    }

    /// - Returns: False if the task was cancelled, so that it ends the wait for a proof; otherwise nil.
    private func elapse(_ time: Duration) async -> Bool? { await pause(time) ? nil : false }

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
