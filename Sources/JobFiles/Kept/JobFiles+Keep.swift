import Glibc
import Jobs

/// Kept files follow these rules:
///
/// K1. A file is kept if, and only if, its record exists. The record appears in one step after the content is durable.
/// K2. The folder `unsettled` names every job with a kept file until ``JobFiles/settle(_:keeping:)`` is called for it, so
///     that the next start finds the files of attempts whose success was never stored.
extension JobFiles {
    /// Keeps a finished file as the result of an attempt. The file is moved, never copied, and it must not be written to
    /// any more. A file that the attempt kept before is replaced.
    ///
    /// When this returns, the file and its description survive a power cut, so a result may mention it (P1).
    ///
    /// - Parameters:
    ///   - source: The path of a regular file with no further hard links, on the same file system as ``folder``.
    ///   - name: The name that people see, without a folder.
    /// - Throws: ``JobFilesError``. The file is either still at `source` or removed with the job's other files.
    public func keep(_ source: String, of lease: Lease, name: String) throws(JobFilesError) -> KeptFile {
        guard (1...255).contains(name.utf8.count), name != ".", name != "..", !name.utf8.contains(0x2F),
            !name.utf8.contains(0)
        else { throw .invalidName }
        let file = try openSource(source)
        let before = try file.facts()
        try places.makeFolder(of: lease.job)
        try checkFileSystem(of: source, lease)
        let digest = try digest(of: file)
        try file.synchronize()
        let after = try file.facts()
        guard before.isUnchanged(in: after), digest.size == Int64(after.st_size) else { throw .changed(path: source) }
        try markUnsettled(lease.job)
        // Programs read it; nobody changes it.
        guard fchmod(file.descriptor, 0o400) == 0 else { throw file.failure("protecting") }
        let content = places.content(lease)
        try Folder.unlinkFile(places.record(lease))
        guard rename(source, content) == 0 else {
            if errno == EXDEV { throw .otherFileSystem(path: source, folder: folder) }
            throw .failed(action: "moving", path: source, errno: errno)
        }
        var moved = stat()
        guard lstat(content, &moved) == 0, moved.st_ino == before.st_ino, moved.st_dev == before.st_dev else {
            try Folder.unlinkFile(content)
            throw .changed(path: source)
        }
        let kept = KeptFile(name: name, size: digest.size, sha256: digest.sha256, path: content)
        try write(kept, lease, intactAs: ContentFacts(moved))
        return kept
    }

    /// Marks a kept file whose content was changed (K4).
    func markDamaged(_ kept: KeptFile, _ lease: Lease) throws(JobFilesError) { try write(kept, lease, intactAs: nil) }

    private func openSource(_ path: String) throws(JobFilesError) -> OpenFile {
        let file: OpenFile
        do throws(JobFilesError) {
            // O_NONBLOCK: opening a pipe would wait for its other end.
            file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
        } catch {
            if case .failed(_, _, ELOOP) = error { throw .notRegular(path: path) }
            throw error
        }
        let facts = try file.facts()
        guard facts.st_mode & S_IFMT == S_IFREG else { throw .notRegular(path: path) }
        guard facts.st_nlink == 1 else { throw .hasOtherNames(path: path) }
        return file
    }

    /// Finds out before the content is read, which may take minutes.
    private func checkFileSystem(of source: String, _ lease: Lease) throws(JobFilesError) {
        let parent = source.lastIndex(of: "/").map { String(source[...$0]) } ?? "."
        // The folders are compared, because an overlay file system has other device numbers for files.
        let theirs = try OpenFile(parent, O_RDONLY | O_DIRECTORY).facts()
        let own = try OpenFile(places.job(lease.job), O_RDONLY | O_DIRECTORY).facts()
        guard own.st_dev == theirs.st_dev else { throw .otherFileSystem(path: source, folder: folder) }
    }

    private static let pieceBytes = 256 << 10

    func digest(of file: OpenFile) throws(JobFilesError) -> (sha256: String, size: Int64) {
        var digest = ContentDigest()
        var size: Int64 = 0
        while true {
            let piece = try file.read(Self.pieceBytes, at: size)
            if piece.isEmpty { return (digest.hexadecimal, size) }
            digest.add(piece)
            size += Int64(piece.count)
        }
    }

    /// - Parameter facts: The facts about the intact content; nil if it is damaged.
    private func write(_ kept: KeptFile, _ lease: Lease, intactAs facts: ContentFacts?) throws(JobFilesError) {
        let record = places.record(lease)
        let draft = record + ".new"
        try Folder.unlinkFile(draft)
        let file = try OpenFile(draft, O_WRONLY | O_CREAT | O_EXCL)
        let code = file.append(
            Array("halyard \(facts == nil ? "damaged" : "file") 1 \(kept.size) \(kept.sha256) \(kept.name)".utf8))
        guard code == 0 else { throw .failed(action: "writing", path: draft, errno: code) }
        try facts?.note(in: file)
        try file.synchronize()
        guard rename(draft, record) == 0 else { throw .failed(action: "moving", path: draft, errno: errno) }
        for folder in [places.job(lease.job), places.group(of: lease.job), folder] { try Folder.synchronize(folder) }
    }

    /// Returns the file of the last attempt that kept one; nil if there is none. Until the job is settled, this need not be
    /// the attempt that succeeded.
    ///
    /// - Throws: ``JobFilesError``, ``JobFilesError/damaged(path:)`` if the size is not the recorded one.
    public func file(of job: JobID) throws(JobFilesError) -> KeptFile? {
        let attempts = try places.names(of: job).compactMap { name in
            if case .record(let attempt) = name { attempt } else { nil }
        }
        guard let attempt = attempts.max() else { return nil }
        return try file(of: Lease(job: job, attempt: attempt))
    }

    /// Returns the file that this attempt kept; nil if it kept none.
    ///
    /// - Throws: ``JobFilesError``, ``JobFilesError/damaged(path:)`` if the size is not the recorded one.
    public func file(of lease: Lease) throws(JobFilesError) -> KeptFile? {
        guard let kept = try record(of: lease)?.kept else { return nil }
        let content = try OpenFile.content(kept.path)
        guard Int64(try content.facts().st_size) == kept.size else { throw .damaged(path: content.path) }
        return kept
    }

    /// Reads the record of a kept file; nil if there is none.
    ///
    /// - Throws: ``JobFilesError``, ``JobFilesError/damaged(path:)`` also if the record says that the content is damaged.
    func record(of lease: Lease) throws(JobFilesError) -> KeptRecord? {
        let record: OpenFile
        do throws(JobFilesError) {
            record = try OpenFile(places.record(lease), O_RDONLY)
        } catch {
            guard case .failed(_, _, ENOENT) = error else { throw error }
            return nil
        }
        let fields = String(decoding: try record.read(4096, at: 0), as: UTF8.self)
            .split(separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard fields.count == 6, fields[0] == "halyard", fields[2] == "1", let size = Int64(fields[3]),
            fields[4].utf8.count == 64
        else { throw .damaged(path: record.path) }
        guard fields[1] == "file" else { throw .damaged(path: places.content(lease)) }
        return KeptRecord(
            kept: KeptFile(
                name: String(fields[5]), size: size, sha256: String(fields[4]), path: places.content(lease)),
            intactSince: ContentFacts.Time(try record.facts().st_mtim))
    }

    /// Opens the content of a kept file for reading in pieces. It stays readable if its job is pruned meanwhile.
    public func open(_ kept: KeptFile) throws(JobFilesError) -> KeptFileReader {
        KeptFileReader(file: try OpenFile.content(kept.path))
    }
}

/// The record of a kept file.
struct KeptRecord {
    let kept: KeptFile
    /// The change time with which the content was last found to be intact (K3).
    let intactSince: ContentFacts.Time

    /// Whether the content is known to be intact, so that it need not be read.
    func notes(_ facts: ContentFacts) -> Bool { facts.size == kept.size && facts.changed == intactSince }
}

/// Reads the content of a kept file.
public struct KeptFileReader: Sendable {
    let file: OpenFile

    /// Returns up to `count` bytes, and fewer only at the end of the file.
    public func read(_ count: Int, at offset: Int64) throws(JobFilesError) -> [UInt8] {
        try file.read(count, at: offset)
    }
}

extension stat {
    fileprivate func isUnchanged(in other: stat) -> Bool {
        st_size == other.st_size && st_mtim.tv_sec == other.st_mtim.tv_sec && st_mtim.tv_nsec == other.st_mtim.tv_nsec
            && other.st_nlink == 1
    }
}
