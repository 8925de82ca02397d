import ControlProtocol

/// The default paths of the daemon's socket and database.
struct DefaultPaths {
    var variable: @Sendable (String) -> String?
    var exists: @Sendable (String) -> Bool

    /// `HALYARD_SOCKET`, or the system's socket if it exists, or the socket of the user's session.
    var socket: String {
        if let path = set(StandardPaths.Variable.socket) { return path }
        let system = StandardPaths.socket
        guard !exists(system), let session = set("XDG_RUNTIME_DIR") else { return system }
        let own = session + "/halyard/halyard.sock"
        return exists(own) ? own : system
    }

    /// `HALYARD_DATABASE`, or the system's database if it exists, or the database of the user.
    var database: String {
        if let path = set(StandardPaths.Variable.database) { return path }
        let system = StandardPaths.database
        guard !exists(system), let state = set("XDG_STATE_HOME") ?? set("HOME").map({ $0 + "/.local/state" }) else {
            return system
        }
        let own = state + "/halyard/halyard.db"
        return exists(own) ? own : system
    }

    private func set(_ name: String) -> String? {
        guard let value = variable(name), !value.isEmpty else { return nil }
        return value
    }
}
