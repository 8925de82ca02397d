/// The release, as the daemon and the command line report it.
public enum Version {
    /// The version number, without a prefix.
    public static let current = "0.1.0"
}
