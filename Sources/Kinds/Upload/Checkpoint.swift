// The compiler attributes `timespec` to this module when Kinds is built as a whole.
import CCAres
import FoundationEssentials
import Glibc
import Jobs

/// The confirmed progress of an upload, from which it can resume. It is written after the server has confirmed the
/// progress, and removed after the job's success is durable: until then the job may run again.
struct Checkpoint: Codable, Sendable, Hashable {
    /// `tus`, `resumable` or `s3`; ``oneRequest`` for an upload in one request, of which the server keeps no parts.
    var style: String
    /// The address it was begun for.
    var target: String
    /// The upload's own address, or its id.
    var upload: String
    /// The name of the secret; like the region, it is needed to delete the upload at the server.
    var credential: String?
    /// The header for the credential; default: `Authorization`.
    var credentialHeader: CredentialHeader?
    var region: String?
    var source: OpenFile.Identity
    /// Bytes that the server has confirmed, from the start; of S3 those of all parts.
    var offset: Int64
    /// Of the source's first bytes, as far as the server has all of them.
    var digest: RunningDigest?
    /// Of S3: those that are stored, by number.
    var parts: [Part] = []
    /// Of S3: of each part but the last.
    var partBytes: Int64?
    /// For S3: whether parts have their own checksums.
    var hasChecksums: Bool?
    /// Set once the upload is complete.
    var receipt: Receipt?

    static let oneRequest = "plain"

    /// Whether the server may have a part of the upload that can be deleted there.
    var isHeldByServer: Bool { style != Self.oneRequest }

    /// The output of an attempt that completed the upload. A later attempt, which runs only if the process ended before
    /// the job's success was durable, returns this output and sends nothing.
    struct Receipt: Codable, Sendable, Hashable {
        /// The number of that attempt. An attempt with a lower or equal number belongs to another job, in another
        /// database with the same job numbers.
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
        /// Whether the server named that digest of what it stored.
        var isConfirmed: Bool
    }
}

/// The checkpoint of one job, in a file of its own that is replaced as a whole.
struct CheckpointFile: Sendable {
    let folder: String
    let job: JobID

    private var path: String { folder + "/upload-\(job).json" }

    /// Nil when there is none. One that cannot be read is as if there were none: the upload then starts over, which is safe.
    func load() -> Checkpoint? { Self.load(path) }

    private static func load(_ path: String) -> Checkpoint? {
        // Whatever is wrong with it, the upload then starts over, which is safe.
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { return nil }
        return try? JSONDecoder().decode(Checkpoint.self, from: data)
    }

    /// Saves the checkpoint. Once this returns, it survives a power cut; with `isDurable` false it only survives the
    /// end of the process, and a power cut may leave an invalid file. Blocks.
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

    /// The output of an earlier attempt with the same input whose success was not stored.
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

    /// The jobs of which there is something in the folder; blocks.
    static func jobs(in folder: String) -> Set<JobID> {
        guard let list = opendir(folder) else { return [] }
        defer { closedir(list) }
        var jobs: Set<JobID> = []
        while let entry = readdir(list) {
            // Read in place: an entry is only as long as its name, and a copy of the whole array would read beyond it.
            guard let text = entry.pointer(to: \.d_name) else { continue }
            let name = String(cString: UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self))
            // Also what a crash kept from being renamed.
            guard name.hasPrefix("upload-"), name.hasSuffix(".json") || name.hasSuffix(".json.new"),
                let number = Int64(name.dropFirst("upload-".count).prefix { $0 != "." })
            else { continue }
            jobs.insert(JobID(number))
        }
        return jobs
    }

    /// Whether there is one, readable or not.
    var isNoted: Bool { access(path, F_OK) == 0 }

    /// When something was last noted; nil when nothing is there.
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
            "the upload's checkpoint in \(folder.printable) cannot be written (\(step): \(String(cString: strerror(errno)))); check the "
                + "disk and the folder's rights.", isRetryable: true)
    }
}
