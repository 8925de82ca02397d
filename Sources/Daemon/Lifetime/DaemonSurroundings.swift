import ControlProtocol
import Glibc
import Jobs
import Logging
import Processes
import Stores
import Systemd

/// The parts of a daemon that its process provides. The defaults are for tests: no notifications, no signal handling,
/// and the socket from the configuration.
public struct DaemonSurroundings: Sendable {
    /// The connection to the service manager. By default there is none.
    public var notifier = Notifier(nil)
    /// Kinds that run in this process, in addition to those of the workers. Names must be unique.
    public var kinds: [any Kind] = []
    /// The path of the built-in worker. Default: `halyard-worker` in the folder of this program.
    public var builtInWorker = Self.besideThisProgram("halyard-worker")
    /// The environment of worker processes. Default: the variables of this process that libraries read, such as `TZ`.
    public var workerEnvironment = Self.environmentOfLibraries()
    /// The cgroup that the service manager delegated to the daemon; nil if it delegated none. Each process of a worker gets
    /// a cgroup of its own below it.
    public var groups: CgroupRoot?
    /// The longest time between two watchdog messages to the service manager; nil if it expects none.
    public var watchdogInterval: Duration?
    /// The file that reports memory pressure, as systemd names it; nil if systemd names none.
    public var memoryPressure: (path: String, setting: String?)?
    /// The control socket, if the service manager opened it. Otherwise the daemon binds its own.
    public var socket: PassedSocket?
    /// The sources for a reload; nil if a reload reads only definitions.
    public var sources: ConfigurationSources?
    /// Whether the daemon handles SIGTERM, SIGINT and SIGHUP, and marks its crashes for the next start.
    public var handlesSignals = false
    /// Whether the daemon runs the stored jobs and exits, without a control socket: see `OnceService`.
    public var runsOnce = false
    /// The threshold that a reload sets to `log.level`.
    public var logThreshold = LogThreshold(.info)
    /// The logger of the daemon and all its parts.
    public var logger = Logger(label: "halyardd")
    /// Returns the way to the configured database.
    public var opening: @Sendable (DaemonConfiguration) throws -> any StoreOpening = { configuration in
        StoreFactory.opening(configuration.address, for: .lasting, onServer: configuration.server)
    }
    /// How long the start waits for a command that holds the database.
    public var lockPatience: Duration = .seconds(30)
    /// How long the daemon may take to end, in addition to the drain and the grace periods.
    public var endPatience: Duration = .seconds(30)
    /// Called when a part of the daemon hangs, after the daemon has asked the service manager to end the process.
    public var onHang: @Sendable (DaemonFailure) -> Void = { _ in }
    /// Awaited by the claim loop before each exchange, for tests that delay it.
    public var beforeEachExchange: (@Sendable () async -> Void)?
    /// Called when the daemon is ready, with a handle that can stop it.
    public var onReady: @Sendable (DaemonHandle) -> Void = { _ in }

    /// Creates the surroundings of a test.
    public init() {}

    private static func besideThisProgram(_ name: String) -> String {
        guard let path = realpath("/proc/self/exe", nil) else { return name }
        defer { free(path) }
        let program = String(cString: path)
        return program.prefix(upTo: program.lastIndex(of: "/") ?? program.startIndex) + "/" + name
    }

    private static func environmentOfLibraries() -> [String: String] {
        let names = [
            "PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "LOCALDOMAIN",
            "RES_OPTIONS", "MALLOC_ARENA_MAX",
        ]
        let values = names.compactMap { name in getenv(name).map { (name, String(cString: $0)) } }
        return Dictionary(uniqueKeysWithValues: values)
    }
}

/// The controls of a running daemon.
public struct DaemonHandle: Sendable {
    /// Stops claiming jobs, drains, and ends the daemon. It returns at once.
    public let stop: @Sendable () -> Void
    /// Interrupts the running jobs.
    public let interrupt: @Sendable () -> Void
}
