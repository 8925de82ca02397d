import ControlProtocol
import Jobs
import Logging
import Settings
import Systemd

/// Everything an administrator sets; `config/halyard.yaml` explains each value.
public struct DaemonConfiguration: Sendable {
    /// The path of the SQLite database. With another database, the daemon keeps its own files next to this path.
    public var database = StandardPaths.database
    /// The URL of the database, if it is on a server.
    public var databaseURL: String?
    /// The path of the control socket.
    public var socket = StandardPaths.socket
    /// The group that may connect to the socket; nil for the group of the process.
    public var socketGroup: String?
    /// Permission bits of the socket.
    public var socketMode: UInt16 = 0o660
    /// The document whose definitions a new database begins with; nil for none.
    public var definitions: String? = StandardPaths.definitions
    /// The number of jobs that run at once.
    public var slots = 256
    /// The wait after which a ready job's priority rises by one step.
    public var ageing: Duration = .seconds(300)
    /// How many crashes of the daemon a job may survive as the only running job before it fails as `crashed`.
    public var maxRescues = 3
    /// How long a stop waits for running jobs before it interrupts them.
    public var drainTimeout: Duration = .seconds(30)
    /// How long a job may take to stop after its timeout, a cancellation or an interrupt.
    public var grace: Duration = .seconds(5)
    /// The lowest level that is logged.
    public var logLevel: Logger.Level = .info
    /// The shortest time between two status lines.
    public var statusInterval: Duration = .seconds(1)
    /// The settings of the spool.
    public var spool = Spool()
    /// The folder of secrets, one file each; nil for none.
    public var credentialFolder: String?
    /// The folder of the checkpoints of uploads; nil for `uploads` next to the database.
    public var checkpoints: String?
    /// The folders that contain the executables that definitions may run. Default: none.
    public var programRoots: [String] = []
    /// The folder of the work folders of programs; nil for `programs` next to the database.
    public var programFolder: String?
    /// The settings of the built-in kinds and their connections by key, as they were written. The worker that runs these
    /// kinds checks them.
    package var workerSettings: [String: SettingText] = [:]
    /// The worker programs of the administrator, in the order of the file.
    public var workers: [Worker] = []
    /// Where each setting comes from, for messages about it.
    var places = SettingPlaces()

    /// The settings of the folder for files that callers send.
    public struct Spool: Sendable, Hashable {
        /// The spool's folder; nil for `spool` next to the database.
        public var directory: String?
        /// The maximum size of all spooled files together.
        public var maxBytes: Int64 = 16 << 30
    }

    /// Creates a configuration with the defaults of the system's daemon.
    public init() {}

    /// Creates the defaults, with the directories that systemd passed to the service.
    public init(_ service: ServiceEnvironment) {
        if let state = service.stateDirectory { database = state + "/halyard.db" }
        if let runtime = service.runtimeDirectory { socket = runtime + "/halyard.sock" }
        if let configuration = service.configurationDirectory { definitions = configuration + "/definitions.yaml" }
        credentialFolder = service.credentialsDirectory
    }

    /// The place of the database.
    var address: DatabaseAddress {
        get { databaseURL.map { .postgresql(url: $0) } ?? .file(path: database) }
        set {
            switch newValue {
            case .file(let path): (database, databaseURL) = (path, nil)
            case .postgresql(let url): databaseURL = url
            }
        }
    }

    /// The folder of the spool, with the default resolved.
    public var spoolDirectory: String { spool.directory ?? nextToDatabase("spool") }
    /// The folder of the checkpoints of uploads, with the default resolved.
    public var checkpointDirectory: String { checkpoints ?? nextToDatabase("uploads") }

    /// The folder of the work folders of programs, with the default resolved.
    public var programDirectory: String { programFolder ?? nextToDatabase("programs") }

    /// Returns a path in the database's folder.
    private func nextToDatabase(_ name: String) -> String {
        guard let slash = database.lastIndex(of: "/") else { return name }
        return database[...slash] + name
    }
}
