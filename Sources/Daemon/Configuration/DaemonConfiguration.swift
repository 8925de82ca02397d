import ControlProtocol
import Glibc
import JobFiles
import Jobs
import Logging
import Settings
import Stores
import Systemd

/// Everything an administrator sets; `config/halyard.yaml` explains each value.
public struct DaemonConfiguration: Sendable {
    /// The path of the SQLite database.
    public var database = StandardPaths.database
    /// The URL of the database, if it is on a server.
    public var databaseURL: String?
    /// The file with the password of the database's server, which systemd passed to the service; nil for none.
    public var databasePasswordFile: String?
    /// The machine's boot, if the service manager passed it.
    var bootID: String?
    /// The folder of the daemon's own files, if the database is on a server; nil for the default, ``homeDirectory``.
    public var home: String?
    /// The name of the daemon among those that share a database; nil for the host's name.
    public var daemonName: String?
    /// The queues whose jobs the daemon runs; empty for all.
    public var daemonQueues: [String] = []
    /// The kinds whose jobs the daemon runs; empty for all kinds that its workers have.
    public var daemonKinds: [String] = []
    /// How long a daemon may be silent before others run its jobs. Only a database on a server has several daemons.
    public var lease = HolderLife.usualLength
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
    /// The folder of the checkpoints of uploads; nil for `uploads` in ``homeDirectory``.
    public var checkpoints: String?
    /// The folders that contain the executables that definitions may run. Default: none.
    public var programRoots: [String] = []
    /// The folder of the work folders of programs; nil for `programs` in ``homeDirectory``.
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
        /// The spool's folder; nil for `spool` in the daemon's home.
        public var directory: String?
        /// Whether the daemons of all hosts can read the folder. If not, a job with a file in it runs only here. Has no
        /// effect if the daemon has the database to itself.
        public var isShared = false
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
        bootID = service.bootID
        databasePasswordFile = service.credentialsDirectory.map { $0 + "/postgresql" }
            .flatMap { access($0, R_OK) == 0 ? $0 : nil }
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

    /// The folder of the daemon's own files, with the default resolved: the folder of an SQLite database, or `postgresql`
    /// in the service's state folder. Each database needs a home of its own, since the files in it are named after jobs.
    public var homeDirectory: String {
        home ?? databaseFolder + (databaseURL == nil ? "" : "/postgresql")
    }

    /// Whether the home differs from the folder of the database.
    var hasOwnHome: Bool { home != nil || databaseURL != nil }

    /// The folder of the spool, with the default resolved.
    public var spoolDirectory: String { spool.directory ?? folderInHome("spool") }
    /// The folder of the checkpoints of uploads, with the default resolved.
    public var checkpointDirectory: String { checkpoints ?? folderInHome("uploads") }

    /// The folder of the work folders of programs, with the default resolved.
    public var programDirectory: String { programFolder ?? homeDirectory + "/programs" }
    /// The folder of the logs and files of jobs: `files` in the home. A file database resolves the symbolic links in its
    /// path, so this folder is next to the database itself.
    var filesDirectory: String {
        if hasOwnHome { return folderInHome("files") }
        if let file = Self.resolved(database) { return JobFiles.folder(nextTo: file) }
        // A new database.
        let folder = Self.resolved(databaseFolder) ?? databaseFolder
        return folder == "/" ? "/files" : folder + "/files"
    }

    /// A folder in the home. If "halyard move" has created a link there, returns the folder that the link leads to,
    /// since results contain the path of that folder.
    private func folderInHome(_ name: String) -> String {
        let path = homeDirectory + "/" + name
        return Self.resolved(path) ?? path
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private var databaseFolder: String {
        guard let slash = database.lastIndex(of: "/") else { return "." }
        return slash == database.startIndex ? "/" : String(database[..<slash])
    }

    /// The settings for a database on a server.
    var server: ServerSettings {
        ServerSettings(
            home: homeDirectory, lease: lease, passwordFile: databasePasswordFile, boot: bootID)
    }
}
