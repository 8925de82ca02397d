import FoundationEssentials
import Glibc
import Jobs

/// How far an upload is that can go on where it stopped. Written after the server has confirmed it.
struct Checkpoint: Codable, Sendable, Hashable {
    /// `tus`, `resumable` or `s3`.
    var style: String
    /// The address it was begun for.
    var target: String
    /// The upload's own address, or its id.
    var upload: String
    /// The name of the secret, and the region: what taking it back needs.
    var credential: String?
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
    /// Of S3: whether parts carry checksums of their own.
    var hasChecksums: Bool?

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

    /// Survives a power cut once this returns. Blocks.
    func save(_ checkpoint: Checkpoint) throws(KindFailure) {
        do {
            let data = try JSONEncoder().encode(checkpoint)
            try replace(with: Array(data))
        } catch let failure as KindFailure {
            throw failure
        } catch {
            throw failure("encode")
        }
    }

    func remove() { unlink(path) }

    /// Makes the folder where it is missing, and takes out what belongs to jobs that ended long ago without removing theirs.
    ///
    /// - Returns: Those uploads, at most 20, which nobody will go on with.
    static func takeStale(in folder: String, olderThan age: Int = 14 * 86400) -> [Checkpoint] {
        mkdir(folder, 0o700)
        guard let list = opendir(folder) else { return [] }
        defer { closedir(list) }
        let oldest = time(nil) - age
        var stale: [Checkpoint] = []
        while stale.count < 20, let entry = readdir(list) {
            // Read in place: an entry is only as long as its name, and a copy of the whole array would read beyond it.
            guard let text = entry.pointer(to: \.d_name) else { continue }
            let name = String(cString: UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self))
            guard name.hasPrefix("upload-") else { continue }
            let path = "\(folder)/\(name)"
            var facts = stat()
            guard stat(path, &facts) == 0, facts.st_mtim.tv_sec <= oldest else { continue }
            // What was not renamed yet may be older than what is there.
            if name.hasSuffix(".json"), let checkpoint = load(path) { stale.append(checkpoint) }
            unlink(path)
        }
        return stale
    }

    private func replace(with bytes: [UInt8]) throws(KindFailure) {
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
        guard fsync(file) == 0, rename(fresh, path) == 0 else { throw failure("sync") }
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
