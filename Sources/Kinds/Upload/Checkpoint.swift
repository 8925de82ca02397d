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
    var source: OpenFile.Identity
    /// Bytes that the server has confirmed, from the start.
    var offset: Int64
    /// Of S3, in order.
    var parts: [Part] = []

    struct Part: Codable, Sendable, Hashable {
        var number: Int
        var etag: String
        var bytes: Int64
    }
}

/// The checkpoint of one job, in a file of its own that is replaced as a whole.
struct CheckpointFile: Sendable {
    let folder: String
    let job: JobID

    private var path: String { folder + "/upload-\(job).json" }

    /// Nil when there is none. One that cannot be read is as if there were none: the upload then starts over, which is safe.
    func load() -> Checkpoint? {
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

    /// Checkpoints of jobs that ended without removing theirs, and the folder itself where it is missing.
    func prepareFolder() {
        mkdir(folder, 0o700)
        guard let list = opendir(folder) else { return }
        defer { closedir(list) }
        let oldest = time(nil) - 14 * 86400
        while let entry = readdir(list) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix("upload-") else { continue }
            var facts = stat()
            if stat("\(folder)/\(name)", &facts) == 0, facts.st_mtim.tv_sec < oldest { unlink("\(folder)/\(name)") }
        }
    }

    private func replace(with bytes: [UInt8]) throws(KindFailure) {
        let fresh = path + ".new"
        let file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
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
