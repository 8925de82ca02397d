import Web
import WebSyntax

/// The administrator's settings for `upload`.
public struct UploadConfiguration: Sendable {
    /// The absolute paths of the folders whose files may be sent. If there are none, only spool files and bodies may be
    /// sent.
    public var roots: [String] = []
    /// The folder in which the daemon keeps files that users passed to it. Inputs name such a file `spool:ID/NAME` or
    /// `spool:ID`.
    public var spool: String?
    /// The folder in which the daemon keeps the files that jobs have produced. An upload that depends on such a job may
    /// send its file.
    public var files: String?
    /// Returns the secret of a credential, or nil if there is none of that name. Default: there are no credentials.
    public var credentials: CredentialLookup = { _ in nil }
    /// The origins to which each credential may be sent. A credential that is not listed is never sent.
    public var credentialOrigins: [CredentialOrigin] = []
    /// The size of the largest file that may be sent, in bytes. Default: 5 TiB.
    public var maxBytes: Int64 = 5 << 40

    /// The folder in which running uploads record their progress, each in one small file, so that they continue after a
    /// restart. It is created if it is missing, and only the daemon may write to it. ``Upload/cleanUp(asking:)``
    /// removes the files of ended jobs. Without a folder, an interrupted upload starts over.
    public var checkpoints: String?
    /// The maximum number of bytes in one request of a resumable upload; for S3, in up to four parallel parts together.
    /// An interruption costs at most that much. Default: 64 MiB.
    public var chunkBytes: Int64 = 64 << 20
    /// The size of a part of a multipart upload to S3, in bytes, at least 5 MiB. Parts are larger if the file would
    /// have more than 10,000 of them. Default: 8 MiB.
    public var partBytes: Int64 = 8 << 20
    /// The memory for data in transit, for all uploads together, in bytes. Each request always has 32 KiB. Default: 32
    /// MiB.
    public var bufferBytes = 32 << 20
    /// The bandwidth limit for all uploads together, in bytes per second; nil for none.
    public var maxBytesPerSecond: Int64?

    /// Creates a configuration with the default values: no folders, no credentials and no bandwidth limit.
    public init() {}
}

/// Returns the secret of a credential, or nil if there is none of that name.
public typealias CredentialLookup = @Sendable (_ name: String) throws(KindFailure) -> String?

/// Returns a lookup in a folder that contains one file for each secret, such as systemd's `$CREDENTIALS_DIRECTORY`. It
/// reads at most 64 KiB of a file, and removes spaces at both ends.
public func credentials(inDirectory path: String) -> CredentialLookup {
    { name throws(KindFailure) in
        guard !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else { return nil }
        let file: OpenFile
        do throws(KindFailure) {
            file = try OpenFile(beneath: path, at: name)
        } catch {
            if error.reason == .fileNotFound { return nil }
            throw error
        }
        return String(decoding: try file.read(at: 0, upTo: 64 << 10), as: UTF8.self).trimmingSpaces
    }
}
