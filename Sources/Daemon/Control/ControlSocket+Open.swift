import API
import Glibc
import Systemd

extension ControlSocket {
    /// The socket that the service manager passed, else one of our own.
    static func open(_ configuration: DaemonConfiguration, passed: PassedSocket?) throws -> ControlSocket {
        if let passed { return ControlSocket(passed: passed.descriptor) }
        guard let group = configuration.socketGroup else {
            return try ControlSocket(path: configuration.socket, mode: mode_t(configuration.socketMode))
        }
        let id = try number(ofGroup: group)
        // Only for us until it has its group.
        let socket = try ControlSocket(path: configuration.socket, mode: mode_t(configuration.socketMode & 0o700))
        guard chown(configuration.socket, uid_t.max, id) == 0,
            chmod(configuration.socket, mode_t(configuration.socketMode)) == 0
        else {
            throw DaemonFailure(
                .socket,
                "\(configuration.socket) cannot be given to the group \(group): \(String(cString: strerror(errno))). Run the daemon as a member of it.",
                errno: errno)
        }
        return socket
    }

    private static func number(ofGroup name: String) throws(DaemonFailure) -> gid_t {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        let code = getgrnam_r(name, &entry, &buffer, buffer.count, &found)
        guard code == 0, found != nil else {
            throw DaemonFailure(
                .configuration, "socket_group: there is no group \"\(name)\". Create it, or name another one.",
                errno: ENOENT)
        }
        return entry.gr_gid
    }
}
