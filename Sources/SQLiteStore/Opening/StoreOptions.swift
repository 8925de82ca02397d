/// The options for opening a database. The defaults are for a daemon.
public struct StoreOptions: Sendable, Hashable {
    /// How long a statement waits for another process's transaction. Default: 5 s.
    public var busyTimeout: Duration
    /// How long opening waits for another connection that prevents reading the database from the disk again after a
    /// crash. If that connection stays open, the store opens only if no sync is known to have failed. Default: 5 s.
    public var readerPatience: Duration
    /// The size in bytes to which the write-ahead log is grown at the start, so that commits need not grow it; 0 to
    /// leave the log unchanged. Default: 8 MiB.
    public var walBytes: Int
    /// The length of the write-ahead log, in pages, at which it is copied into the database. The copy is made after a
    /// commit has been acknowledged. Default: 1000.
    public var checkpointPages: Int
    /// The free space in bytes below which the database is not opened. Default: 16 MiB.
    public var minimumFreeBytes: Int64
    /// The size in bytes up to which a database is checked completely at the start. Default: 16 MiB.
    public var checkedBytes: Int64
    /// Whether the store notices at once when a file is removed or replaced, even while it writes nothing. Default:
    /// true.
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
