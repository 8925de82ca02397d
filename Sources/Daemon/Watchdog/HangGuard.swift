import Dispatch
import Glibc
import Jobs
import Logging
import Synchronization
import Systemd

/// Notices when something that ends in bounded time does not, says what and why in the status and the log, and asks the
/// service manager to end the process and start it anew.
///
/// Counts on a thread of libdispatch, so that it rings also while every task hangs.
final class HangGuard: Sendable {
    private struct State {
        var reason: (@Sendable () -> String?)?
        var problem: String?
    }

    private let notifier: Notifier
    private let logger: Logger
    private let onHang: @Sendable (DaemonFailure) -> Void
    // SAFETY: libdispatch allows any thread to use a source.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer
    private let state = Mutex(State())

    /// - Parameter onHang: Called after everybody was told.
    init(notifier: Notifier, logger: Logger, onHang: @escaping @Sendable (DaemonFailure) -> Void) {
        self.notifier = notifier
        self.logger = logger
        self.onHang = onHang
        timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler { [weak self] in self?.ring() }
        timer.activate()
    }

    deinit { timer.cancel() }

    /// From now on counts until ``ended()``, in place of what was expected before.
    ///
    /// - Parameter reason: What hangs, asked when the limit has passed; nil when it has just ended.
    func expectEnd(within limit: Duration, _ reason: @escaping @Sendable () -> String?) {
        state.withLock { $0.reason = reason }
        timer.schedule(deadline: .now() + .milliseconds(Int(limit.milliseconds)))
    }

    func ended() {
        pause()
        state.withLock { $0.problem = nil }
    }

    /// Counts no more; what was told still holds.
    func pause() {
        timer.schedule(deadline: .distantFuture)
        state.withLock { $0.reason = nil }
    }

    /// What hangs; nil while nothing does.
    var problem: String? { state.withLock(\.problem) }

    private func ring() {
        guard let reason = state.withLock({ $0.reason.take() })?() else { return }
        tell(reason)
    }

    /// The manager ends the process upon this, as if its watchdog had run out.
    func tell(_ reason: String) {
        state.withLock { $0.problem = reason }
        logger.critical("\(reason)", metadata: ["HALYARD_EVENT": "daemon-hung"])
        notifier.send(.status(reason), .watchdogTrigger)
        onHang(DaemonFailure(.inputOutput, reason, errno: ETIMEDOUT))
    }
}
