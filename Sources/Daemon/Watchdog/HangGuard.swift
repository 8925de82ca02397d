import Dispatch
import Glibc
import Jobs
import Logging
import Synchronization
import Systemd

/// Notices when something that ends in bounded time does not, says what and why in the status and the log, and asks the
/// service manager to end the process and start it anew.
///
/// Counts on a thread of libdispatch, so that it rings also while every task hangs. Rings twice, a short while apart:
/// who was kept from running as long as we were, as by a machine that stood still, has time to show that nothing hangs.
final class HangGuard: Sendable {
    private struct State {
        /// Told apart by number, since the end may come, and another be expected, while a ring looks for the reason.
        var lastNumber = 0
        var expected: Expected?
        var problem: String?
    }

    private struct Expected {
        let number: Int
        let reason: @Sendable () -> String?
        let shortWhileMilliseconds: Int
        /// Of libdispatch's clock, in nanoseconds.
        var ringsAt: UInt64
        var hasRung = false
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
    /// - Parameter reason: What hangs, asked when the limit and a short while (a sixteenth of it, 100 ms to 5 s) have
    ///   passed; nil when it has just ended.
    func expectEnd(within limit: Duration, _ reason: @escaping @Sendable () -> String?) {
        let shortWhile = min(max(limit.milliseconds / 16, 100), 5000)
        state.withLock { state in
            state.lastNumber += 1
            let ringsAt = DispatchTime.now() + .milliseconds(Int(limit.milliseconds))
            state.expected = Expected(
                number: state.lastNumber, reason: reason, shortWhileMilliseconds: Int(shortWhile),
                ringsAt: ringsAt.uptimeNanoseconds)
            // Under the lock, so that the timer is set as the last caller wants it.
            timer.schedule(deadline: ringsAt)
        }
    }

    func ended() {
        pause()
        state.withLock { $0.problem = nil }
    }

    /// Counts no more; what was told still holds.
    func pause() {
        state.withLock { state in
            state.expected = nil
            timer.schedule(deadline: .distantFuture)
        }
    }

    /// What hangs; nil while nothing does.
    var problem: String? { state.withLock(\.problem) }

    private func ring() {
        let overdue = state.withLock { state in takeRing(&state) }
        guard let overdue, let reason = overdue.reason() else { return }
        let isStillExpected = state.withLock { state -> Bool in
            guard state.expected?.number == overdue.number else { return false }
            state.expected = nil
            state.problem = reason
            return true
        }
        if isStillExpected { announce(reason) }
    }

    /// - Returns: What is overdue, at its second ring.
    private func takeRing(_ state: inout State) -> Expected? {
        guard var expected = state.expected else { return nil }
        let now = DispatchTime.now()
        // Else it was meant for what was expected before.
        if now.uptimeNanoseconds >= expected.ringsAt {
            if expected.hasRung { return expected }
            expected.hasRung = true
            expected.ringsAt = (now + .milliseconds(expected.shortWhileMilliseconds)).uptimeNanoseconds
            state.expected = expected
        }
        timer.schedule(deadline: DispatchTime(uptimeNanoseconds: expected.ringsAt))
        return nil
    }

    /// The manager ends the process upon this, as if its watchdog had run out.
    func tell(_ reason: String) {
        state.withLock { $0.problem = reason }
        announce(reason)
    }

    private func announce(_ reason: String) {
        // Before the log, which may wait for a journal that hangs as well.
        notifier.send(.status(reason), .watchdogTrigger)
        logger.critical("\(reason)", metadata: ["HALYARD_EVENT": "daemon-hung", "HALYARD_ERROR": "\(reason)"])
        onHang(DaemonFailure(.inputOutput, reason, errno: ETIMEDOUT))
    }
}
