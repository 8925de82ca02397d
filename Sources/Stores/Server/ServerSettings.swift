import Jobs

/// The settings of a connection to a database server, in addition to its URL.
public struct ServerSettings: Sendable, Hashable {
    /// The folder in which the daemon keeps its own files, and by which other starts know it (``DaemonIdentity``).
    public var home: String
    /// How long the daemon's life lasts without a renewal.
    public var lease: Duration
    /// The path of a file that contains the password; nil for none.
    public var passwordFile: String?

    /// The ID of the machine's boot; nil to read it from the kernel.
    public var boot: String?

    /// Creates settings. Default lease: ``HolderLife/usualLength``.
    public init(
        home: String, lease: Duration = HolderLife.usualLength, passwordFile: String? = nil,
        boot: String? = nil
    ) {
        self.home = home
        self.lease = lease
        self.passwordFile = passwordFile
        self.boot = boot
    }
}
