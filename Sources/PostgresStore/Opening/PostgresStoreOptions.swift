import Jobs

/// How a store connects to its server, and what differs for tests.
public struct PostgresStoreOptions: Sendable {
    /// How long a daemon's life lasts without a renewal. Default: ``HolderLife/usualLength``.
    public var lifeLength = HolderLife.usualLength
    /// How long a statement may take before the connection counts as lost. Default: 60 seconds.
    public var answerTimeout = Duration.seconds(60)
    /// How long to wait for a connection to each host of the URL. Default: 10 seconds.
    public var connectTimeout = Duration.seconds(10)
    /// The path of a file that contains the password, read for each connection; nil for none. A password in the URL
    /// counts instead.
    public var passwordFile: String?
    /// Whether the store serves one request: it neither creates nor migrates the schema, and does not hear of the changes
    /// of other stores.
    public var isBrief = false

    /// Creates the default options.
    public init() {}
}
