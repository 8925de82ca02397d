import Control
import Jobs
import Kinds
import Logging
import Systemd

/// Everything an administrator sets; `config/halyard.yaml` explains each value.
public struct DaemonConfiguration: Sendable, Hashable {
    public var database = StandardPaths.database
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
    public var upload = Upload()
    public var spool = Spool()
    public var network = Network()
    public var unfurl = Unfurl()
    public var enrich = Enrich()

    public struct Upload: Sendable, Hashable {
        public var roots: [String] = []
        /// The folder of secrets, one file each; nil for none.
        public var credentials: String?
        /// The servers to which each credential may be sent.
        public var credentialOrigins: [CredentialOrigin] = []
        public var maxBytes: Int64 = 5 << 40
        /// The folder of the checkpoints of uploads; nil for `uploads` next to the database.
        public var checkpoints: String?
        public var chunkBytes: Int64 = 64 << 20
        public var partBytes: Int64 = 8 << 20
        /// The memory for data in transit.
        public var bufferBytes: Int64 = 32 << 20
        /// The bandwidth limit for all uploads together; nil for none.
        public var maxBytesPerSecond: Int64?
    }

    public struct Spool: Sendable, Hashable {
        /// The spool's folder; nil for `spool` next to the database.
        public var directory: String?
        public var maxBytes: Int64 = 16 << 30
    }

    public struct Network: Sendable, Hashable {
        public var ports: [UInt16] = [80, 443, 8080, 8443]
        public var allow: [String] = []
        public var userAgentSuffix = ""
        public var proxy: ProxyServer?
        /// The name of the proxy's credential.
        public var proxyCredential: String?
        public var connectTimeout: Duration = .seconds(10)
        public var idleTimeout: Duration = .seconds(30)
        /// A file of certificates to trust in addition to the system's.
        public var authorities: String?
        public var retryAfterLimit: Duration = .seconds(3600)
        public var hostRequests = 6
        public var hostInterval: Duration = .milliseconds(100)
        public var hostFailures = 5
        public var hostRest: Duration = .seconds(30)
    }

    public struct Unfurl: Sendable, Hashable {
        public var maxRedirects = 20
        public var timeout: Duration = .seconds(60)
        public var hopTimeout: Duration = .seconds(15)
        public var keeps: Duration = .seconds(300)
        public var trackingParameters: [String] = []
        public var trackingList: TrackingList?
        public var wrappers: [String] = []
    }

    public struct Enrich: Sendable, Hashable {
        public var maxRedirects = 20
        public var timeout: Duration = .seconds(60)
        public var maxBytes: Int64 = 2 << 20
    }

    public init() {}

    /// Creates the defaults, with the directories that systemd passed to the service.
    public init(_ service: ServiceEnvironment) {
        if let state = service.stateDirectory { database = state + "/halyard.db" }
        if let runtime = service.runtimeDirectory { socket = runtime + "/halyard.sock" }
        if let configuration = service.configurationDirectory { definitions = configuration + "/definitions.yaml" }
        upload.credentials = service.credentialsDirectory
    }

    public var spoolDirectory: String { spool.directory ?? beside("spool") }
    public var checkpointDirectory: String { upload.checkpoints ?? beside("uploads") }

    /// Returns a path in the database's folder.
    private func beside(_ name: String) -> String {
        guard let slash = database.lastIndex(of: "/") else { return name }
        return database[...slash] + name
    }
}
