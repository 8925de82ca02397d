/// A file that an attempt produced as its result, and that the daemon keeps with the job.
public struct KeptFile: Sendable, Hashable {
    /// The file's own name, without a folder.
    public var name: String
    /// The size in bytes.
    public var size: Int64
    /// The SHA-256 of the content, in hexadecimal.
    public var sha256: String
    /// The absolute path of the content on the daemon's machine.
    public var path: String

    /// Creates a description.
    public init(name: String, size: Int64, sha256: String, path: String) {
        self.name = name
        self.size = size
        self.sha256 = sha256
        self.path = path
    }
}
