/// How a database is opened. The defaults are for a daemon.
public struct StoreOptions: Sendable, Hashable {
    /// How long a statement waits for another process's transaction.
    public var busyTimeout: Duration
    /// How long opening waits for another connection that prevents reading the database from the disk again after a
    /// crash. If it stays open, the store opens only when no sync is known to have failed.
    public var readerPatience: Duration
    /// The size to which the write-ahead log is grown at the start, so that commits need not grow it; 0 to leave it
    /// unchanged.
    public var walBytes: Int
    /// The number of pages in the write-ahead log at which they are copied into the database, after a commit was
    /// acknowledged.
    public var checkpointPages: Int
    /// Free space below which the database is not opened.
    public var minimumFreeBytes: Int64
    /// Files up to this size are checked completely at the start.
    public var checkedBytes: Int64
    /// Whether the store notices at once when a file is removed or replaced, also while it writes nothing.
    public var watchesFiles: Bool

    public init(
        busyTimeout: Duration = .seconds(5), walBytes: Int = 8 << 20, checkpointPages: Int = 1000,
        minimumFreeBytes: Int64 = 16 << 20,
        checkedBytes: Int64 = 16 << 20, watchesFiles: Bool = true, readerPatience: Duration = .seconds(5)
    ) {
        self.busyTimeout = busyTimeout
        self.readerPatience = readerPatience
        self.walBytes = walBytes
        self.checkpointPages = checkpointPages
        self.minimumFreeBytes = minimumFreeBytes
        self.checkedBytes = checkedBytes
        self.watchesFiles = watchesFiles
    }

    /// Options for a process that makes one small change and ends.
    public static let brief = StoreOptions(
        walBytes: 0, minimumFreeBytes: 1 << 20, checkedBytes: 0, watchesFiles: false,
        readerPatience: .milliseconds(200))
}
