import API
import Glibc
import Systemd

extension ControlSocket {
    /// Returns the socket that the service manager passed, or binds the configured one.
    static func open(_ configuration: DaemonConfiguration, passed: PassedSocket?) throws -> ControlSocket {
        if let passed { return ControlSocket(passed: passed.descriptor) }
        guard let group = configuration.socketGroup else {
            return try ControlSocket(path: configuration.socket, mode: mode_t(configuration.socketMode))
        }
        guard let id = groupNumber(named: group) else {
            throw DaemonFailure(
                .configuration, "socket_group: there is no group \"\(group)\". Create it, or use another group.",
                errno: ENOENT)
        }
        // Only the daemon's user may connect until the socket belongs to its group.
        let socket = try ControlSocket(path: configuration.socket, mode: mode_t(configuration.socketMode & 0o700))
        guard chown(configuration.socket, uid_t.max, id) == 0,
            chmod(configuration.socket, mode_t(configuration.socketMode)) == 0
        else {
            let code = errno
            throw DaemonFailure(
                code == EPERM ? .configuration : .socket,
                "socket_group: \(configuration.socket) cannot be given to the group \(group) (\(String(cString: strerror(code)))). Run the daemon as a member of that group.",
                errno: code)
        }
        return socket
    }
}
