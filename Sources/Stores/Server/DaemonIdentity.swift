import Glibc

/// The identity of a daemon, which lasts as long as its home: 32 hexadecimal digits in the file `daemon-id`.
///
/// The next process with the same home takes back the jobs of the one before it at once. It must hold the home's lock.
public struct DaemonIdentity: Sendable, Hashable {
    /// The content of the file.
    public let text: String
    /// The place of the file, as the kernel numbers it. A copy of the file has another place, also on the same host.
    public let place: String

    /// Reads the identity of a home, and creates it for a new home.
    ///
    /// - Throws: ``StoreOpenFailure`` if the file cannot be read, written or understood.
    static func ofDaemon(in home: String) throws(StoreOpenFailure) -> DaemonIdentity {
        let path = home + "/daemon-id"
        var file = openFile(path)
        if file < 0, errno == ENOENT {
            try create(path, in: home)
            file = openFile(path)
        }
        guard file >= 0 else { throw failure("read", path, errno) }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0 else { throw failure("read", path, errno) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        guard count >= 0 else { throw failure("read", path, errno) }
        let text = String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard text.utf8.count == 32, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw StoreOpenFailure(
                .wrong,
                "\(path) does not contain the identity of a daemon. Remove it; the next start creates a new one.")
        }
        return DaemonIdentity(text: text, place: "\(facts.st_dev):\(facts.st_ino)")
    }

    private static func openFile(_ path: String) -> Int32 { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }

    /// Writes a new identity, which survives a power cut.
    private static func create(_ path: String, in home: String) throws(StoreOpenFailure) {
        var random = SystemRandomNumberGenerator()
        let text = [random.next(), random.next()].map { (number: UInt64) in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let new = path + ".new"
        let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure("write", new, errno) }
        let bytes = Array((text + "\n").utf8)
        let isWritten = write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
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
