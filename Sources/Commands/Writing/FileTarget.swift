import ControlProtocol
import Glibc
import JobFiles

/// The path that the caller named for a new file.
struct FileTarget {
    let path: String
    let replaces: Bool

    /// Refuses a path that cannot be written before anything is read.
    init(_ path: String, replaces: Bool) throws {
        self.path = path
        self.replaces = replaces
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return }
        switch facts.st_mode & S_IFMT {
        case S_IFREG: if !replaces { throw exists }
        case S_IFDIR: throw CommandFailure(.data, "\(path) is a folder; name a file.")
        default:
            throw CommandFailure(
                .data, "\(path) is not a regular file and is not replaced. Use --file - and redirect standard output.")
        }
    }

    var exists: CommandFailure {
        CommandFailure(.data, "\(path) exists. Name another file, or replace it with --force.")
    }

    func failure(_ code: Int32) -> CommandFailure {
        switch code {
        case ENOENT, ENOTDIR: CommandFailure(.noInput, "The folder of \(path) does not exist. Create it.")
        case EACCES, EPERM, EROFS:
            CommandFailure(.permission, "Permission to write \(path) was denied. Name another file.")
        case EEXIST: exists
        default:
            CommandFailure(
                .inputOutput, "\(path) cannot be written: \(String(cString: strerror(code))). Nothing was changed.")
        }
    }
}

/// A file next to its target that gets the target's name when it is complete, and otherwise disappears.
final class FileDraft {
    private let target: FileTarget
    private let path: String
    private let descriptor: Int32
    private var isPublished = false

    init(for target: FileTarget) throws {
        self.target = target
        let cut = target.path.lastIndex(of: "/").map { target.path.index(after: $0) } ?? target.path.startIndex
        var generator = SystemRandomNumberGenerator()
        let mark = String(generator.next(), radix: 36)
        path = target.path[..<cut] + ".halyard-\(mark)"
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        if descriptor < 0 { throw target.failure(errno) }
    }

    deinit {
        close(descriptor)
        if !isPublished { unlink(path) }
    }

    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { rest = rest.dropFirst(count) } else if errno != EINTR { throw target.failure(errno) }
        }
    }

    /// Gives the complete file its name. Without permission to replace it, a file that appeared meanwhile stays.
    func publish() throws {
        guard fsync(descriptor) == 0 else { throw target.failure(errno) }
        if target.replaces {
            guard rename(path, target.path) == 0 else { throw target.failure(errno) }
            isPublished = true
        } else {
            // Unlike a renaming, a link never replaces a file. The draft's own name is removed afterwards.
            guard link(path, target.path) == 0 else { throw target.failure(errno) }
        }
    }
}

extension FileContent {
    /// Passes the content on and checks it at the end.
    ///
    /// - Throws: If the content is not the one whose digest was recorded.
    func copy(to write: ([UInt8]) throws -> Void) async throws {
        var digest = ContentDigest()
        var size: Int64 = 0
        for try await chunk in chunks {
            digest.add(chunk)
            size += Int64(chunk.count)
            try write(chunk)
        }
        guard size == file.size, digest.hexadecimal == file.sha256 else {
            throw CommandFailure(
                .inputOutput,
                "The content of the file is damaged: its SHA-256 is \(digest.hexadecimal), not \(file.sha256). Run the job again."
            )
        }
    }
}
