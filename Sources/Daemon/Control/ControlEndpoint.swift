import API
import StoreControl
import Systemd

/// The ways in which callers reach the daemon. They are opened before the database, so that a failure here
/// does not leave a new database behind.
struct ControlEndpoint {
    let spool: Spool
    let socket: ControlSocket

    init(_ configuration: DaemonConfiguration, passed: PassedSocket?) throws {
        spool = try Spool(directory: configuration.spoolDirectory, maxBytes: configuration.spool.maxBytes)
        socket = try ControlSocket.open(configuration, passed: passed)
    }
}
