import Glibc

/// A file of one line in the daemon's home.
struct HomeFile {
    let path: String
    /// The line, without its end.
    let line: String
    /// The place of the file, as the kernel numbers it.
    let place: String

    /// Reads a file; nil if there is none.
    ///
    /// - Throws: ``StoreOpenFailure`` if it cannot be read.
    init?(_ name: String, in home: String) throws(StoreOpenFailure) {
        path = home + "/" + name
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if file < 0 {
            guard errno == ENOENT else { throw Self.failure("read", path, errno) }
            return nil
        }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0 else { throw Self.failure("read", path, errno) }
        place = "\(facts.st_dev):\(facts.st_ino)"
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        guard count >= 0 else { throw Self.failure("read", path, errno) }
        line = String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// Writes a new file, which survives a power cut.
    ///
    /// - Throws: ``StoreOpenFailure`` if it cannot be written.
    static func write(_ line: String, to name: String, in home: String) throws(StoreOpenFailure) {
        let path = home + "/" + name
        let new = path + ".new"
        let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure("write", new, errno) }
        let bytes = Array((line + "\n").utf8)
        let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        let code = errno
        close(file)
        guard isWritten, rename(new, path) == 0 else { throw failure("write", path, isWritten ? errno : code) }
        let folder = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failure("synchronize", home, errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw failure("synchronize", home, errno) }
    }

    private static func failure(_ action: String, _ path: String, _ code: Int32) -> StoreOpenFailure {
        let cause: StoreOpenFailure.Cause =
            switch code {
            case EACCES, EPERM, EROFS: .readOnly
            case ENOSPC, EDQUOT: .passing(errno: code)
            default: .inputOutput(errno: code)
            }
        return StoreOpenFailure(
            cause,
            "Cannot \(action) \(path) (\(String(cString: strerror(code)))). The daemon's user must be able to write to its home."
        )
    }
}
