import FoundationEssentials
import Glibc
import Jobs
import Web
import WebSyntax

/// The confirmed progress of an upload, from which it can resume. It is written after the server has confirmed the
/// progress, and removed after the job's success is durable: until then the job may run again.
struct Checkpoint: Codable, Sendable, Hashable {
    /// The protocol: `tus`, `resumable` or `s3`, or ``oneRequest`` for an upload in one request, which leaves no parts
    /// at the server.
    var style: String
    /// The URL for which the upload was begun.
    var target: String
    /// The URL that the server gave this upload; for S3, the id of the upload.
    var upload: String
    /// The name of the credential. Like the region, it is needed to delete the upload at the server.
    var credential: String?
    /// The header for the credential; default: `Authorization`.
    var credentialHeader: CredentialHeader?
    var region: String?
    var source: OpenFile.Identity
    /// How many bytes from the start the server has confirmed; for S3, the bytes of all its parts.
    var offset: Int64
    /// The digest of the source's first bytes, up to the first byte that the server lacks.
    var digest: RunningDigest?
    /// For S3: the stored parts, in the order of their numbers.
    var parts: [Part] = []
    /// For S3: the size of every part except the last, in bytes.
    var partBytes: Int64?
    /// For S3: whether parts have their own checksums.
    var hasChecksums: Bool?
    /// Set once the upload is complete.
    var receipt: Receipt?

    static let oneRequest = "plain"

    /// Whether the server may hold an incomplete upload that can be deleted there.
    var isHeldByServer: Bool { style != Self.oneRequest }

    /// The output of an attempt that completed the upload. A later attempt, which runs only if the process ended before
    /// the job's success was durable, returns this output and sends nothing.
    struct Receipt: Codable, Sendable, Hashable {
        /// The number of the attempt that completed the upload. If the current attempt's number is not higher, the
        /// receipt belongs to another job, in another database with the same job numbers.
        var attempt: Int
        /// SHA-256 of the input, in hexadecimal.
        var input: String
        var output: Upload.Output
    }

    struct Part: Codable, Sendable, Hashable {
        var number: Int
        var etag: String
        var bytes: Int64
        /// SHA-256 in hexadecimal.
        var sha256: String
        /// Whether the server reported this digest for the part that it stored.
        var isConfirmed: Bool
    }
}

/// The file with the checkpoint of one job. Each save replaces it atomically.
struct CheckpointFile: Sendable {
    let folder: String
    let job: JobID

    private var path: String { folder + "/upload-\(job).json" }

    /// Reads the checkpoint. Returns nil if there is none or if it is unreadable: the upload then starts over, which is
    /// safe.
    func load() -> Checkpoint? { Self.load(path) }

    private static func load(_ path: String) -> Checkpoint? {
        // The error does not matter: the upload then starts over, which is safe.
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { return nil }
        return try? JSONDecoder().decode(Checkpoint.self, from: data)
    }

    /// Saves the checkpoint. When this returns, the checkpoint survives a power cut. If `isDurable` is false, it
    /// survives only the end of the process, and a power cut may leave an invalid file. Blocks.
    ///
    /// - Throws: `checkpoint_failed`. Saving again is safe.
    func save(_ checkpoint: Checkpoint, isDurable: Bool = true) throws(KindFailure) {
        do {
            let data = try JSONEncoder().encode(checkpoint)
            try replace(with: Array(data), isDurable: isDurable)
        } catch let failure as KindFailure {
            throw failure
        } catch {
            throw failure("encode")
        }
    }

    /// Returns the output of an earlier attempt that completed the upload of the same input, but whose success was not
    /// stored. Returns nil if there is none.
    func receipt(for input: Upload.Input, before attempt: Int) -> Upload.Output? {
        // A first attempt has no earlier one, so most jobs read no file.
        guard attempt > 1, let receipt = load()?.receipt, receipt.attempt < attempt,
            receipt.input == input.fingerprint
        else { return nil }
        return receipt.output
    }

    func remove() {
        unlink(path)
        unlink(path + ".new")
    }

    /// Returns the jobs that have a file in the folder. Blocks.
    static func jobs(in folder: String) -> Set<JobID> {
        // A folder that cannot be read has nothing to resume.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // Includes files that were not renamed because of a crash.
        let uploads = names.filter { $0.hasPrefix("upload-") && ($0.hasSuffix(".json") || $0.hasSuffix(".json.new")) }
        return Set(uploads.compactMap { Int64($0.dropFirst("upload-".count).prefix { $0 != "." }).map { JobID($0) } })
    }

    /// Whether there is a checkpoint, even if it is unreadable.
    var isNoted: Bool { access(path, F_OK) == 0 }

    /// When the checkpoint was last written; nil if there is none.
    var notedAt: time_t? {
        [path, path + ".new"].compactMap { path in
            var facts = stat()
            return stat(path, &facts) == 0 ? facts.st_mtim.tv_sec : nil
        }.max()
    }

    private func replace(with bytes: [UInt8], isDurable: Bool) throws(KindFailure) {
        let fresh = path + ".new"
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
        var file = open(fresh, flags, 0o600)
        if file < 0, errno == ENOENT, mkdir(folder, 0o700) == 0 { file = open(fresh, flags, 0o600) }
        guard file >= 0 else { throw failure("open") }
        defer { close(file) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("write")
            }
            written += count
        }
        guard !isDurable || fsync(file) == 0, rename(fresh, path) == 0 else { throw failure("sync") }
        if !isDurable { return }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failure("open") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw failure("sync") }
    }

    private func failure(_ step: String) -> KindFailure {
        KindFailure(
            .checkpointFailed,
            "the upload's checkpoint in \(folder.printable) could not be written (\(step): \(String(cString: strerror(errno)))); check the "
                + "disk and the folder's permissions.", isRetryable: true)
    }
}
