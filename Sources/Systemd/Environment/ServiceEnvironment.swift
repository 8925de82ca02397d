import Glibc

/// What the service manager tells a service through its environment.
public struct ServiceEnvironment: Sendable, Hashable {
    /// The address that ``Notifier`` sends to; nil when nobody listens.
    public var notifySocket: String?
    /// How often the manager wants to hear of the watchdog at least; nil when it does not watch.
    public var watchdogInterval: Duration?
    /// `device:inode` of the journal's stream, when standard output or error is one.
    public var journalStream: String?
    /// Set for every start by the manager; nil when a person started the process.
    public var invocationID: String?
    public var stateDirectory: String?
    public var runtimeDirectory: String?
    public var configurationDirectory: String?
    /// Where `LoadCredential=` puts secrets.
    public var credentialsDirectory: String?

    public init() {}

    /// - Parameter process: Our process; what the manager meant for another one is left out.
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
    }

    /// The names that concern this process alone. Left in the environment, a child could speak to the manager in our
    /// name, or find our secrets.
    public static let privateVariables = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
        "JOURNAL_STREAM", "INVOCATION_ID", "CREDENTIALS_DIRECTORY",
    ]

    /// Reads the environment and removes ``privateVariables`` from it.
    ///
    /// Take passed sockets first (``PassedSocket/takeAll()``). Only while the process has one thread: the environment
    /// of a process may not be changed while another thread reads it.
    public static func take() -> ServiceEnvironment {
        let names = [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM", "INVOCATION_ID", "STATE_DIRECTORY",
            "RUNTIME_DIRECTORY", "CONFIGURATION_DIRECTORY", "CREDENTIALS_DIRECTORY",
        ]
        var variables: [String: String] = [:]
        for name in names {
            variables[name] = getenv(name).map { String(cString: $0) }
        }
        for name in privateVariables { unsetenv(name) }
        return ServiceEnvironment(variables)
    }
}
