import API
import ControlProtocol
import Glibc
import Jobs
import Logging
import ServiceLifecycle
import Systemd

/// Answers callers in place of a daemon that cannot start until somebody repairs its configuration or database.
///
/// systemd starts the service while a connection waits on the socket. If the process just ended, the connection would
/// stay in the queue and start the service again, until systemd gives up on service and socket. So the process answers
/// waiting callers with the reason, stays for further callers, and then ends.
struct FailedStart {
    let failure: DaemonFailure
    /// A separate descriptor of the passed socket; ``refuseCallers(for:)`` closes it.
    let socket: CInt
    let unit: UnitName?
    let logger: Logger

    /// How long to stay, which limits how often callers can start the service to twice a minute. If callers are
    /// waiting, a `systemctl restart` that fails again takes this long; after the repair it is not delayed.
    static let stay = Duration.seconds(30)

    /// Answers callers for a while. Returns at once when no caller waits: then systemd has no reason to start the
    /// service again.
    func refuseCallers(for time: Duration = stay) async {
        let control = ControlSocket(passed: socket)
        guard hasCallers else { return control.close() }
        // Restores the default actions: a stop has nothing to clean up.
        for number in [SIGTERM, SIGINT, SIGHUP] { signal(number, SIG_DFL) }
        logger.notice("answering callers with this reason for \(time.human)")
        let server = ControlServer(refusing: problem, socket: control, logger: logger)
        var quiet = logger
        quiet.logLevel = .critical
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [server], logger: quiet))
        // Cancelled below if the group ends by itself, for example because the socket is unusable.
        let timer = Task {
            try await Task.sleep(for: time, clock: .continuous)
            await group.triggerGracefulShutdown()
        }
        defer { timer.cancel() }
        do {
            try await group.run()
        } catch {
            logger.error("cannot answer callers: \(error)")
            // Callers still wait, so the process stays for the same time, which limits how often they start the
            // service.
            try? await timer.value  // Only the end of the wait matters.
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
