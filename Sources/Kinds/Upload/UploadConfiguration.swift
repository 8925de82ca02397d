/// What an administrator sets for `upload`.
public struct UploadConfiguration: Sendable {
    /// Folders whose files may be sent, absolute. None unless set: then only the spool and bodies are sent.
    public var roots: [String] = []
    /// Where the daemon keeps files that users handed over; they are named `spool:ID/NAME`, where `/NAME` may be
    /// missing.
    public var spool: String?
    /// Gives the secret of a name; nil when there is none of that name. Knows none unless set.
    public var credentials: CredentialLookup = { _ in nil }
    /// Which of them may be sent where. Nowhere unless set.
    public var credentialOrigins: [CredentialOrigin] = []
    /// The largest file, in bytes. 5 TiB unless set.
    public var maxBytes: Int64 = 5 << 40

    /// Where uploads under way note how far they are, one small file each, so that they go on after a restart. Made where it is
    /// missing, and writable by the daemon alone; ``Upload/takeBack(asking:)`` removes what ended jobs left. None
    /// unless set: then an interrupted upload starts over.
    public var checkpoints: String?
    /// What one request of a resumable upload, or the up to four parts that go to S3 at once, carry at most, in bytes: what an
    /// interruption may cost. 64 MiB unless set.
    public var chunkBytes: Int64 = 64 << 20
    /// A part of a multipart upload to S3, in bytes, from 5 MiB. 8 MiB unless set; more for files of more than 10,000 parts.
    public var partBytes: Int64 = 8 << 20
    /// Memory for what is on its way, of all uploads together, in bytes; each request holds 32 KiB whatever is left. 32 MiB
    /// unless set.
    public var bufferBytes = 32 << 20
    /// For all uploads together. No limit unless set.
    public var maxBytesPerSecond: Int64?

    public init() {}
}

/// Gives the secret of a name; nil when there is none of that name.
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
