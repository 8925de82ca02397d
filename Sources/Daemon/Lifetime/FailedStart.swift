import API
import Control
import Glibc
import Jobs
import Logging
import ServiceLifecycle
import Systemd

/// Stands in for a daemon that must not start until somebody repairs its configuration or database.
///
/// systemd starts the service for every connection that waits on the socket. If the process just ended, the connection
/// would stay in the queue and start the service again, until systemd gives up on service and socket. So the process
/// answers waiting callers with the reason, stays for callers that follow, and then ends.
struct FailedStart {
    let failure: DaemonFailure
    /// A descriptor of its own for the passed socket, which ``refuseCallers(for:)`` closes.
    let socket: CInt
    let unit: UnitName?
    let logger: Logger

    /// How long to stay, which bounds how often callers can start the service: twice a minute. `systemctl restart` takes
    /// this long to fail when callers wait at that moment, and is not delayed after the repair.
    static let stay = Duration.seconds(30)

    /// Returns at once when nobody waits: then systemd has no reason to start the service again.
    func refuseCallers(for time: Duration = stay) async {
        let control = ControlSocket(passed: socket)
        guard hasCallers else { return control.close() }
        // Nothing is open that a stop would have to close.
        for number in [SIGTERM, SIGINT, SIGHUP] { signal(number, SIG_DFL) }
        logger.notice("answering callers with this reason for \(time.human)")
        let server = ControlServer(refusing: problem, socket: control, logger: logger)
        var quiet = logger
        quiet.logLevel = .critical
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [server], logger: quiet))
        // Cancelled when the group has ended by itself, as when the socket is unusable.
        let timer = Task {
            try await Task.sleep(for: time, clock: .continuous)
            await group.triggerGracefulShutdown()
        }
        defer { timer.cancel() }
        do {
            try await group.run()
        } catch {
            logger.error("callers get no answer: \(error)")
            // Without an answer they still wait; the pause bounds how often that starts the service.
            try? await timer.value  // Ends with the pause.
        }
    }

    /// The message for callers.
    var problem: ControlProblem {
        let lines = failure.reason.split(separator: "\n").map(String.init)
        let remedy = "See: \(unit?.statusCommand ?? "the log of halyardd")"
        return lines.count == 1
            ? ControlProblem(.noDaemon, "The daemon is not running, because it cannot start: \(lines[0]) \(remedy)")
            : ControlProblem(
                .noDaemon, "The daemon is not running, because it cannot start. \(remedy)", details: lines)
    }

    private var hasCallers: Bool {
        var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }
}

extension DaemonFailure {
    /// Whether another start fails in the same way until somebody repairs something.
    var needsRepair: Bool { status == .configuration || status == .usage }
}
