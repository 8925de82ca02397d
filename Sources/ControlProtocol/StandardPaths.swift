/// The paths that the system's daemon uses, and in which `halyard` looks by default.
public enum StandardPaths {
    /// The SQLite database.
    public static let database = "/var/lib/halyard/halyard.db"
    /// The home of the daemon if its database is on a server.
    public static let homeForServer = "/var/lib/halyard/postgresql"
    /// The control socket.
    public static let socket = "/run/halyard/halyard.sock"
    /// The configuration file.
    public static let configuration = "/etc/halyard/halyard.yaml"
    /// The document with the definitions of a new database.
    public static let definitions = "/etc/halyard/definitions.yaml"

    /// The environment variables that replace the default paths. Flags override them. The daemon and the
    /// command line use the same ones.
    public enum Variable {
        /// The path of the database.
        public static let database = "HALYARD_DATABASE"
        /// The path of the control socket.
        public static let socket = "HALYARD_SOCKET"
        /// The path of the configuration file.
        public static let configuration = "HALYARD_CONFIG"
    }
}
