/// Where the system's daemon keeps its things, and where `halyard` looks for it when nothing else is said.
public enum StandardPaths {
    public static let database = "/var/lib/halyard/halyard.db"
    public static let socket = "/run/halyard/halyard.sock"
    public static let configuration = "/etc/halyard/halyard.yaml"
    public static let definitions = "/etc/halyard/definitions.yaml"

    /// Over the defaults, under the flags; the same for the daemon and the command line.
    public enum Variable {
        public static let database = "HALYARD_DATABASE"
        public static let socket = "HALYARD_SOCKET"
        public static let configuration = "HALYARD_CONFIG"
    }
}
