import Glibc

/// The values that the service manager passes to a service through its environment.
public struct ServiceEnvironment: Sendable, Hashable {
    /// The address to which ``Notifier`` sends; nil if the manager expects no notifications.
    public var notifySocket: String?
    /// The longest time between two watchdog messages; nil if the manager expects none.
    public var watchdogInterval: Duration?
    /// `device:inode` of the stream to the journal, if standard output or error is one.
    public var journalStream: String?
    /// The manager's identifier of this start; nil if a person started the process.
    public var invocationID: String?
    public var stateDirectory: String?
    public var runtimeDirectory: String?
    public var configurationDirectory: String?
    /// Where `LoadCredential=` puts secrets.
    public var credentialsDirectory: String?
    /// What ``MemoryPressure`` watches; nil where the manager does not offer it.
    public var memoryPressureWatch: String?
    public var memoryPressureSetting: String?

    public init() {}

    /// - Parameter process: This process. Values that the manager passed to another process are ignored.
    public init(_ variables: [String: String], process: Int32 = getpid()) {
        func value(_ name: String) -> String? {
            guard let value = variables[name], !value.isEmpty else { return nil }
            return value
        }
        /// systemd joins several directories by colons; the first is ours.
        func directory(_ name: String) -> String? {
            value(name).flatMap { $0.split(separator: ":").first.map(String.init) }
        }
        notifySocket = value("NOTIFY_SOCKET")
        if value("WATCHDOG_PID").map({ $0 == String(process) }) ?? true,
            let microseconds = value("WATCHDOG_USEC").flatMap(Int64.init), microseconds > 0
        {
            watchdogInterval = .microseconds(microseconds)
        }
        journalStream = value("JOURNAL_STREAM")
        invocationID = value("INVOCATION_ID")
        stateDirectory = directory("STATE_DIRECTORY")
        runtimeDirectory = directory("RUNTIME_DIRECTORY")
        configurationDirectory = directory("CONFIGURATION_DIRECTORY")
        credentialsDirectory = value("CREDENTIALS_DIRECTORY")
        memoryPressureWatch = value("MEMORY_PRESSURE_WATCH")
        memoryPressureSetting = value("MEMORY_PRESSURE_WRITE")
    }

    /// The variables for this process alone. With them, a child process could send messages to the manager in the name
    /// of this process or find its secrets.
    public static let privateVariables = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
        "JOURNAL_STREAM", "INVOCATION_ID", "CREDENTIALS_DIRECTORY", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
    ]

    /// Reads the environment and removes ``privateVariables`` from it.
    ///
    /// Take passed sockets first (``PassedSocket/takeAll()``). Call it while the process has one thread, since no other
    /// thread may read the environment while it changes.
    public static func take() -> ServiceEnvironment {
        let names = [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM", "INVOCATION_ID", "STATE_DIRECTORY",
            "RUNTIME_DIRECTORY", "CONFIGURATION_DIRECTORY", "CREDENTIALS_DIRECTORY", "MEMORY_PRESSURE_WATCH",
            "MEMORY_PRESSURE_WRITE",
        ]
        var variables: [String: String] = [:]
        for name in names {
            variables[name] = getenv(name).map { String(cString: $0) }
        }
        for name in privateVariables { unsetenv(name) }
        return ServiceEnvironment(variables)
    }
}
