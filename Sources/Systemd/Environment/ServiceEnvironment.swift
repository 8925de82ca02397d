import Glibc

/// The values that the service manager passes to a service through its environment.
public struct ServiceEnvironment: Sendable, Hashable {
    /// The address to which ``Notifier`` sends; nil if the manager expects no notifications.
    public var notifySocket: String?
    /// The longest time between two watchdog messages; nil if the manager expects none.
    public var watchdogInterval: Duration?
    /// `device:inode` of the stream to the journal, if standard output or standard error is connected to it.
    public var journalStream: String?
    /// The manager's identifier of this start; nil if a person started the process.
    public var invocationID: String?
    /// The folder of `StateDirectory=`; nil if the unit has none.
    public var stateDirectory: String?
    /// The folder of `RuntimeDirectory=`; nil if the unit has none.
    public var runtimeDirectory: String?
    /// The folder of `ConfigurationDirectory=`; nil if the unit has none.
    public var configurationDirectory: String?
    /// The folder in which `LoadCredential=` puts secrets.
    public var credentialsDirectory: String?
    /// The identifier of the machine's boot (`%b`), for units that hide the kernel's file; nil if the unit does not pass it.
    public var bootID: String?
    /// The file that ``MemoryPressure`` watches; nil if the manager offers none.
    public var memoryPressureWatch: String?
    /// The text that ``MemoryPressure`` writes to the file, in Base64; nil to write nothing.
    public var memoryPressureSetting: String?

    /// Creates the environment of a process without a service manager.
    public init() {}

    /// Takes the values from the variables of an environment.
    ///
    /// - Parameter process: The ID of this process. A watchdog that the manager set for another process is
    ///   ignored.
    public init(_ variables: [String: String], process: Int32 = getpid()) {
        func value(_ name: String) -> String? {
            guard let value = variables[name], !value.isEmpty else { return nil }
            return value
        }
        /// Returns the first directory; systemd separates several by colons.
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
        bootID = value(Self.bootVariable)
        memoryPressureWatch = value("MEMORY_PRESSURE_WATCH")
        memoryPressureSetting = value("MEMORY_PRESSURE_WRITE")
    }

    /// The variable for ``bootID``, which a unit sets to `%b`.
    public static let bootVariable = "HALYARD_BOOT"

    /// The variables that only this process may read. With them, a child process could send messages to the
    /// manager in the name of this process or find its secrets.
    public static let privateVariables = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
        "JOURNAL_STREAM", "INVOCATION_ID", "CREDENTIALS_DIRECTORY", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
    ]

    /// Reads the environment and removes ``privateVariables`` from it.
    ///
    /// Call ``PassedSocket/takeAll()`` first, since it needs some of these variables. Call both while the
    /// process has only one thread, since no other thread may read the environment while it changes.
    public static func take() -> ServiceEnvironment {
        var variables: [String: String] = [:]
        for name in privateVariables + [
            "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CONFIGURATION_DIRECTORY", bootVariable,
        ] {
            variables[name] = getenv(name).map { String(cString: $0) }
        }
        for name in privateVariables { unsetenv(name) }
        return ServiceEnvironment(variables)
    }
}
