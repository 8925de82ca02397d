import ControlProtocol
import Jobs
import Kinds
import Logging
import Systemd
import Web

/// Everything an administrator sets; `config/halyard.yaml` explains each value.
public struct DaemonConfiguration: Sendable, Hashable {
    /// The path of the SQLite database.
    public var database = StandardPaths.database
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
    /// The settings of uploads.
    public var upload = Upload()
    /// The settings of the spool.
    public var spool = Spool()
    /// The settings of all outgoing connections.
    public var network = Network()
    /// The settings of the kind `unfurl`.
    public var unfurl = Unfurl()
    /// The settings of the kind `enrich`.
    public var enrich = Enrich()

    /// The settings of uploads.
    public struct Upload: Sendable, Hashable {
        /// The folders from which jobs may send files.
        public var roots: [String] = []
        /// The folder of secrets, one file each; nil for none.
        public var credentials: String?
        /// The servers to which each credential may be sent.
        public var credentialOrigins: [CredentialOrigin] = []
        /// The maximum size of a file that is sent.
        public var maxBytes: Int64 = 5 << 40
        /// The folder of the checkpoints of uploads; nil for `uploads` next to the database.
        public var checkpoints: String?
        /// The maximum size of one request of a resumable upload.
        public var chunkBytes: Int64 = 64 << 20
        /// The size of one part of a multipart upload to S3.
        public var partBytes: Int64 = 8 << 20
        /// The memory for data in transit.
        public var bufferBytes: Int64 = 32 << 20
        /// The bandwidth limit for all uploads together; nil for none.
        public var maxBytesPerSecond: Int64?
    }

    /// The settings of the folder for files that callers send.
    public struct Spool: Sendable, Hashable {
        /// The spool's folder; nil for `spool` next to the database.
        public var directory: String?
        /// The maximum size of all spooled files together.
        public var maxBytes: Int64 = 16 << 30
    }

    /// The settings of all outgoing connections.
    public struct Network: Sendable, Hashable {
        /// The ports to which jobs may connect at public addresses.
        public var ports: [UInt16] = [80, 443, 8080, 8443]
        /// Other addresses and ports to which jobs may connect.
        public var allow: [String] = []
        /// The text to append to the `User-Agent` header.
        public var userAgentSuffix = ""
        /// The proxy for all connections; nil for none.
        public var proxy: ProxyServer?
        /// The name of the proxy's credential.
        public var proxyCredential: String?
        /// The time limit for opening a connection, including TLS.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a server may make no progress before its request fails.
        public var idleTimeout: Duration = .seconds(30)
        /// A file of certificates to trust in addition to the system's.
        public var authorities: String?
        /// The maximum wait that a server can request with `Retry-After`.
        public var retryAfterLimit: Duration = .seconds(3600)
        /// The number of requests to one host at the same time.
        public var hostRequests = 6
        /// The shortest time between the starts of two requests to one host.
        public var hostInterval: Duration = .milliseconds(100)
        /// The number of failed connections in a row after which a host gets no requests for ``hostRest``.
        public var hostFailures = 5
        /// How long a host gets no requests after too many failed connections.
        public var hostRest: Duration = .seconds(30)
    }

    /// The settings of the kind `unfurl`.
    public struct Unfurl: Sendable, Hashable {
        /// The maximum number of redirects to follow, unless the job sets another.
        public var maxRedirects = 20
        /// The time limit for the whole chain of redirects, unless the job sets another.
        public var timeout: Duration = .seconds(60)
        /// The time limit for one request in the chain.
        public var hopTimeout: Duration = .seconds(15)
        /// How long a result is reused for jobs with the same link.
        public var keeps: Duration = .seconds(300)
        /// Query parameters to remove in addition to the well-known tracking parameters.
        public var trackingParameters: [String] = []
        /// More parameters to remove, from a file; nil for none.
        public var trackingList: TrackingList?
        /// More redirect pages whose addresses contain their target.
        public var wrappers: [String] = []
    }

    /// The settings of the kind `enrich`.
    public struct Enrich: Sendable, Hashable {
        /// The maximum number of redirects to follow, unless the job sets another.
        public var maxRedirects = 20
        /// The time limit for the redirects and the page together, unless the job sets another.
        public var timeout: Duration = .seconds(60)
        /// The maximum number of bytes to read of a page, after decompression.
        public var maxBytes: Int64 = 2 << 20
    }

    /// Creates a configuration with the defaults of the system's daemon.
    public init() {}

    /// Creates the defaults, with the directories that systemd passed to the service.
    public init(_ service: ServiceEnvironment) {
        if let state = service.stateDirectory { database = state + "/halyard.db" }
        if let runtime = service.runtimeDirectory { socket = runtime + "/halyard.sock" }
        if let configuration = service.configurationDirectory { definitions = configuration + "/definitions.yaml" }
        upload.credentials = service.credentialsDirectory
    }

    /// The folder of the spool, with the default resolved.
    public var spoolDirectory: String { spool.directory ?? nextToDatabase("spool") }
    /// The folder of the checkpoints of uploads, with the default resolved.
    public var checkpointDirectory: String { upload.checkpoints ?? nextToDatabase("uploads") }

    /// Returns a path in the database's folder.
    private func nextToDatabase(_ name: String) -> String {
        guard let slash = database.lastIndex(of: "/") else { return name }
        return database[...slash] + name
    }
}
