/// The administrator's settings for `upload`.
public struct UploadConfiguration: Sendable {
    /// The absolute paths of the folders whose files may be sent. Without any, only spool files and bodies may be sent.
    public var roots: [String] = []
    /// The folder in which the daemon keeps files that users passed to it. Inputs name such a file `spool:ID/NAME` or
    /// `spool:ID`.
    public var spool: String?
    /// Returns the secret of a credential, or nil if there is none of that name.
    public var credentials: CredentialLookup = { _ in nil }
    /// The origins to which each credential may be sent. A credential that is not listed is never sent.
    public var credentialOrigins: [CredentialOrigin] = []
    /// The size of the largest file, in bytes.
    public var maxBytes: Int64 = 5 << 40

    /// The folder in which running uploads record their progress, each in one small file, so that they continue after a
    /// restart. It is created if it is missing, and only the daemon may write to it. ``Upload/takeBack(asking:)``
    /// removes the files of ended jobs. Without a folder, an interrupted upload starts over.
    public var checkpoints: String?
    /// The most bytes that one request of a resumable upload, or up to four parallel parts for S3, may contain. An
    /// interruption costs at most that much.
    public var chunkBytes: Int64 = 64 << 20
    /// The size of a part of a multipart upload to S3, in bytes, at least 5 MiB. Parts are larger if the file would
    /// have more than 10,000 of them.
    public var partBytes: Int64 = 8 << 20
    /// The memory for data in transit, for all uploads together, in bytes. Each request always has 32 KiB.
    public var bufferBytes = 32 << 20
    /// The bandwidth limit for all uploads together; nil for none.
    public var maxBytesPerSecond: Int64?

    public init() {}
}

/// Returns the secret of a credential, or nil if there is none of that name.
public typealias CredentialLookup = @Sendable (_ name: String) throws(KindFailure) -> String?

/// The secrets of a folder, one file each, as systemd keeps them in `$CREDENTIALS_DIRECTORY`. At most 64 KiB are read.
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
