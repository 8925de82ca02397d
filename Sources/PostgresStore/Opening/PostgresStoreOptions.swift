import Jobs

/// How a store connects to its server, and what differs for tests.
public struct PostgresStoreOptions: Sendable {
    /// How long a daemon's life lasts without a renewal. Default: ``HolderLife/usualLength``.
    public var lifeLength = HolderLife.usualLength
    /// How long a statement may take before the connection counts as lost. Migrations, and the count of a range of history
    /// before it is dropped, may take ten times as long. Default: 60 seconds.
    public var answerTimeout = Duration.seconds(60)
    /// How long to wait for a connection to each host of the URL. Default: 10 seconds.
    public var connectTimeout = Duration.seconds(10)
    /// The path of a file that contains the password, read for each connection; nil for none. A password in the URL
    /// counts instead.
    public var passwordFile: String?
    /// How many times longer the slowest statements may take.
    static let patience = 10
    /// The ID of the machine's boot; nil to read it from the kernel.
    public var boot: String?
    /// Called after each rescue. The store then knows the ends of this daemon's earlier lives.
    public var onRescue: @Sendable () -> Void = {}
    /// Whether the store serves one request: it neither creates nor migrates the schema, and does not hear of the changes
    /// of other stores.
    public var isBrief = false
    /// The size of a hot table, with its indexes, from which on new rows go to its other half if most of the rows were
    /// deleted. Default: 16 MiB.
    public var rotationBytes = 16 << 20
    /// The minimum time between two looks at the sizes of the hot tables. Default: one second.
    public var rotationPause = Duration.seconds(1)
    /// How long a half must have been empty before its storage is released. A transaction that reads a hot table for the
    /// first time later than this after its snapshot may miss open jobs. Default: one minute.
    public var rotationGrace = Duration.seconds(60)
    /// The minimum number of jobs in a range of history. A range is dropped as a whole when all its jobs are pruned. If
    /// many jobs are kept, new ranges are larger. Default: 500,000.
    public var rangeJobs = usualRangeJobs

    static let usualRangeJobs = 500_000

    /// Creates the default options.
    public init() {}
}
