import Jobs

/// How a store connects to its server, and what differs for tests.
public struct PostgresStoreOptions: Sendable {
    /// How long a daemon's life lasts without a renewal. Default: ``HolderLife/usualLength``.
    public var lifeLength = HolderLife.usualLength
    /// How long a statement may take before the connection counts as lost. Default: 60 seconds.
    public var answerTimeout = Duration.seconds(60)
    /// How long to wait for a connection. Default: 10 seconds.
    public var connectTimeout = Duration.seconds(10)

    /// Creates the default options.
    public init() {}
}
