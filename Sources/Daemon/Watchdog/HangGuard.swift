import Dispatch
import Glibc
import Jobs
import Logging
import Synchronization
import Systemd

/// Notices when an operation exceeds its time limit, reports the reason in the status and the log, and asks the
/// service manager to restart the process.
///
/// The timer runs on a libdispatch thread, so it works even if every task hangs. It fires twice, a short while
/// apart. If the whole machine was suspended, the operation could not run either; the second period gives it
/// time to finish.
final class HangGuard: Sendable {
    private struct State {
        /// Identifies the expected end. While a ring determines the reason, the operation may end, and another end
        /// may be expected.
        var lastNumber = 0
        var expected: Expected?
        var problem: String?
    }

    private struct Expected {
        let number: Int
        let reason: @Sendable () -> String?
        let shortWhileMilliseconds: Int
        /// On libdispatch's clock, in nanoseconds.
        var ringsAt: UInt64
        var hasRung = false
    }

    private let notifier: Notifier
    private let logger: Logger
    private let onHang: @Sendable (DaemonFailure) -> Void
    // SAFETY: libdispatch allows any thread to use a source.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer
    private let state = Mutex(State())

    /// - Parameter onHang: Called after the hang was reported in the status and the log.
    init(notifier: Notifier, logger: Logger, onHang: @escaping @Sendable (DaemonFailure) -> Void) {
        self.notifier = notifier
        self.logger = logger
        self.onHang = onHang
        timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler { [weak self] in self?.ring() }
        timer.activate()
    }

    deinit { timer.cancel() }

    /// Expects a call of ``ended()`` within a time limit. Replaces the previous expectation.
    ///
    /// - Parameter reason: Returns what hangs, or nil if the operation has just ended. It is called when the
    ///   limit and a short while (a sixteenth of the limit, 100 ms to 5 s) have passed.
    func expectEnd(within limit: Duration, _ reason: @escaping @Sendable () -> String?) {
        let shortWhile = min(max(limit.milliseconds / 16, 100), 5000)
        state.withLock { state in
            state.lastNumber += 1
            let ringsAt = DispatchTime.now() + .milliseconds(Int(limit.milliseconds))
            state.expected = Expected(
                number: state.lastNumber, reason: reason, shortWhileMilliseconds: Int(shortWhile),
                ringsAt: ringsAt.uptimeNanoseconds)
            // Inside the lock, so that the timer always belongs to the latest expectation.
            timer.schedule(deadline: ringsAt)
        }
    }

    func ended() {
        pause()
        state.withLock { $0.problem = nil }
    }

    /// Stops the timer but keeps the reported problem.
    func pause() {
        state.withLock { state in
            state.expected = nil
            timer.schedule(deadline: .distantFuture)
        }
    }

    /// The reported hang; nil if there is none.
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

    /// - Returns: The overdue expectation if this is its second ring; otherwise nil.
    private func takeRing(_ state: inout State) -> Expected? {
        guard var expected = state.expected else { return nil }
        let now = DispatchTime.now()
        // Otherwise the timer fired for a previous expectation.
        if now.uptimeNanoseconds >= expected.ringsAt {
            if expected.hasRung { return expected }
            expected.hasRung = true
            expected.ringsAt = (now + .milliseconds(expected.shortWhileMilliseconds)).uptimeNanoseconds
            state.expected = expected
        }
        timer.schedule(deadline: DispatchTime(uptimeNanoseconds: expected.ringsAt))
        return nil
    }

    /// Reports a hang at once. The service manager then ends the process as if its watchdog had expired.
    func report(_ reason: String) {
        state.withLock { $0.problem = reason }
        announce(reason)
    }

    private func announce(_ reason: String) {
        // Notify before logging, since the log may block on a journal that hangs as well.
        notifier.send(.status(reason), .watchdogTrigger)
        logger.critical("\(reason)", metadata: ["HALYARD_EVENT": "daemon-hung", "HALYARD_ERROR": "\(reason)"])
        onHang(DaemonFailure(.inputOutput, reason, errno: ETIMEDOUT))
    }
}
