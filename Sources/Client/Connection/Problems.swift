import ControlProtocol
import Glibc
import NIOCore

extension ControlProblem {
    /// Explains why the client could not connect.
    init(connecting error: any Error, to path: String) {
        if error is CancellationError {
            self.init(.unavailable, "The request was cancelled before it was sent.")
            return
        }
        switch (error as? IOError)?.errnoCode {
        case ENOENT:
            self.init(
                .noDaemon,
                path == StandardPaths.socket
                    ? "The daemon is not running: the socket \(path) does not exist. See: systemctl status halyard"
                    : "No daemon listens on \(path): the socket does not exist. Start halyardd, or give the path of its socket."
            )
        case ECONNREFUSED:
            self.init(
                .noDaemon,
                path == StandardPaths.socket
                    ? "The daemon is not running: nothing listens on \(path). See: systemctl status halyard"
                    : "No daemon listens on \(path). Start halyardd.")
        case EACCES, EPERM:
            self.init(
                .permission,
                "You may not use the socket \(path). Join its group (ls -l \(path) shows it) and log in again, or use sudo."
            )
        case EAGAIN:
            self.init(.unavailable, "The daemon on \(path) has too many callers at the moment. Try again.")
        default:
            self.init(.noDaemon, "The socket \(path) cannot be reached: \(error). Give the path of halyardd's socket.")
        }
    }

    /// Explains why an exchange failed after it had begun.
    init(during call: Call, error: any Error) {
        if case ConnectionError.timedOut = error {
            self.init(
                call.isHarmlessForCaller ? .unavailable : .unknownOutcome,
                "The daemon did not answer in time. \(Self.advice(call))")
        } else if error is CancellationError {
            self.init(
                call.isHarmlessForCaller ? .unavailable : .unknownOutcome,
                "The request was cancelled while the daemon was handling it. \(Self.advice(call))")
        } else {
            self.init(
                call.isHarmlessForCaller ? .unavailable : .unknownOutcome,
                "The daemon closed the connection before it answered. \(Self.advice(call))")
        }
    }

    private static func advice(_ call: Call) -> String {
        call.isHarmlessForCaller
            ? "Look at \"halyard status\", then try again."
            : "The request may or may not have taken effect. Check with \"halyard list\"; a request with a key is safe to repeat."
    }
}

extension Call {
    fileprivate var isHarmlessForCaller: Bool { isRepeatable && !hasHiddenKey }
}
