/// The default paths of the daemon's socket and database.
package struct DefaultPaths {
    private let variable: @Sendable (String) -> String?
    private let exists: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - variable: Returns the value of an environment variable.
    ///   - exists: Whether a file exists.
    package init(
        variable: @escaping @Sendable (String) -> String?, exists: @escaping @Sendable (String) -> Bool
    ) {
        self.variable = variable
        self.exists = exists
    }

    /// `HALYARD_SOCKET`, or the system's socket if it exists, or the socket of the user's session.
    package var socket: String {
        path(
            StandardPaths.Variable.socket, system: StandardPaths.socket,
            own: set("XDG_RUNTIME_DIR").map { $0 + "/halyard/halyard.sock" })
    }

    /// `HALYARD_DATABASE`, or the system's database if it exists, or the database of the user.
    package var database: String {
        let state = set("XDG_STATE_HOME") ?? set("HOME").map { $0 + "/.local/state" }
        return path(
            StandardPaths.Variable.database, system: StandardPaths.database,
            own: state.map { $0 + "/halyard/halyard.db" })
    }

    private func path(_ variable: String, system: String, own: String?) -> String {
        if let path = set(variable) { return path }
        guard !exists(system), let own, exists(own) else { return system }
        return own
    }

    private func set(_ name: String) -> String? {
        guard let value = variable(name), !value.isEmpty else { return nil }
        return value
    }
}
