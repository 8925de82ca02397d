import CLinux
import Glibc
import Synchronization
import Web
import WebSyntax

/// A regular file below a folder, opened once and kept open. Neither a symbolic link nor `..` can lead out of the
/// folder, and replacing the file under its name later has no effect.
final class OpenFile: Sendable {
    /// Identifies the content: a file with other content has another identity.
    struct Identity: Codable, Hashable, Sendable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modifiedNs: Int64
        var changedNs: Int64
    }

    /// The difference between the file and ``identity``.
    enum Change: Equatable {
        case none
        /// Only the inode's change time differs. A rename, new permissions or a new hard link cause that, but so does a
        /// writer that sets the modification time back. Only a comparison of the content shows which it was.
        case perhaps(Identity)
        case certain
    }

    private let descriptor: Int32
    private let known: Mutex<Identity>
    /// The file as it was when it was opened or when ``adopt(_:)`` was last called.
    var identity: Identity { known.withLock(\.self) }
    /// The path as the caller gave it, for messages.
    let name: String

    let size: Int64

    /// Opens a file. Blocks.
    ///
    /// - Parameter path: The path relative to `root`.
    /// - Throws: `file_not_found`, `file_refused` if the path leads to anything but a regular file below `root`, or
    ///   `file_unreadable`.
    init(beneath root: String, at path: String) throws(KindFailure) {
        // O_NONBLOCK: opening a FIFO must not wait for its writer.
        let facts: stat
        (descriptor, facts) = try Self.open(path, beneath: root, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        known = Mutex(Identity(facts))
        size = Int64(facts.st_size)
        name = path
    }

    deinit { close(descriptor) }

    /// Checks that the path leads to a regular file, without opening the file: a process at the other end of a FIFO
    /// does not notice.
    ///
    /// - Throws: The same failures as ``init(beneath:at:)``.
    static func look(beneath root: String, at path: String) throws(KindFailure) {
        close(try open(path, beneath: root, Int32(halyard_open_path)).descriptor)
    }

    /// The failure for anything but a regular file; nil for a regular file.
    private static func refusal(_ facts: stat, path: String, root: String) -> KindFailure? {
        switch facts.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFLNK: return failure(ELOOP, path: path, root: root)
        case S_IFDIR:
            let whole = (root.hasSuffix("/") ? root : root + "/") + path
            return KindFailure(
                .fileRefused,
                "\(path.printable) is a folder; give the path of a file, or send every file in it with: halyard upload \(whole.printable) --to URL"
            )
        default:
            return KindFailure(
                .fileRefused, "\(path.printable) is not a regular file; give the path of a regular file.")
        }
    }

    /// Compares the file with ``identity``.
    func change() -> Change {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return .certain }
        let (now, identity) = (Identity(facts), identity)
        if now == identity { return .none }
        return now.isPerhaps(identity) ? .perhaps(now) : .certain
    }

    /// Accepts a new identity, after the content has proved to be the same.
    func adopt(_ identity: Identity) { known.withLock { $0 = identity } }

    /// Reads up to `count` bytes; fewer only at the end of the file. Blocks.
    func read(at offset: Int64, upTo count: Int) throws(KindFailure) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            failure = fill(UnsafeMutableRawBufferPointer(buffer), at: offset, filled: &filled)
        }
        if failure != 0 { throw unreadable(failure) }
        return bytes
    }

    /// Fills the buffer from `offset` on, or up to the end of the file. Blocks.
    ///
    /// - Returns: Zero, or the `errno` of the failed read.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64, filled: inout Int) -> Int32 {
        while filled < buffer.count {
            let got = pread(
                descriptor, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset) + off_t(filled))
            if got < 0 {
                if errno == EINTR { continue }
                return errno
            }
            if got == 0 { break }
            filled += got
        }
        return 0
    }

    /// Tells the kernel that the file is read once from front to back.
    func adviseSequential() { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }

    func unreadable(_ code: Int32) -> KindFailure {
        KindFailure(
            .fileUnreadable,
            "\(name.printable) cannot be read (\(Self.reason(code))); check the disk and the file's permissions.",
            isRetryable: code == EIO || code == EAGAIN)
    }

    /// Opens a regular file.
    private static func open(
        _ path: String, beneath root: String, _ flags: Int32
    ) throws(KindFailure) -> (descriptor: Int32, facts: stat) {
        let folder = Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else {
            throw KindFailure(
                .fileUnreadable,
                "the folder \(root.printable) cannot be opened (\(reason(errno))); the administrator must correct the "
                    + "configuration.")
        }
        defer { close(folder) }
        let opened = openFile(path, beneath: folder, flags)
        var facts = stat()
        guard opened >= 0, fstat(opened, &facts) == 0 else {
            let code = errno
            if opened >= 0 { close(opened) }
            throw failure(code, path: path, root: root)
        }
        if let refusal = refusal(facts, path: path, root: root) {
            close(opened)
            throw refusal
        }
        return (opened, facts)
    }

    /// Opens each component of the path in turn, so that none of them can be a symbolic link. openat2 would do this in
    /// one call, but systemd's RestrictSUIDSGID= denies it to a service.
    ///
    /// - Returns: A descriptor; or -1 with `errno`, which is `ELOOP` for a symbolic link and `EXDEV` for a path that
    ///   contains `..` or is absolute.
    private static func openFile(_ path: String, beneath root: Int32, _ flags: Int32) -> Int32 {
        let names = path.split(separator: "/").filter { $0 != "." }.map(String.init)
        guard !path.hasPrefix("/"), !names.contains(".."), let last = names.last else {
            errno = path.isEmpty ? ENOENT : EXDEV
            return -1
        }
        var folder = root
        for name in names.dropLast() {
            let next = openat(folder, name, Int32(halyard_open_path) | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            var code = errno
            if next < 0, code == ENOTDIR, isLink(name, in: folder) { code = ELOOP }
            if folder != root { close(folder) }
            guard next >= 0 else {
                errno = code
                return -1
            }
            folder = next
        }
        let file = openat(folder, last, flags | O_NOFOLLOW | O_CLOEXEC)
        let code = errno
        if folder != root { close(folder) }
        errno = code
        return file
    }

    private static func isLink(_ name: String, in folder: Int32) -> Bool {
        var facts = stat()
        return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && facts.st_mode & S_IFMT == S_IFLNK
    }

    private static func failure(_ code: Int32, path: String, root: String) -> KindFailure {
        switch code {
        case ENOENT, ENOTDIR:
            KindFailure(.fileNotFound, "\(path.printable) does not exist under \(root.printable); check the path.")
        case EXDEV where path.split(separator: "/").contains(".."): parentInPath(path)
        case ELOOP, EXDEV:
            KindFailure(
                .fileRefused,
                "\(path.printable) leads through a symbolic link or out of \(root.printable); give the path of the file itself."
            )
        case ENXIO, ENODEV:
            KindFailure(.fileRefused, "\(path.printable) is not a regular file; give the path of a regular file.")
        default:
            KindFailure(
                .fileUnreadable,
                "\(path.printable) cannot be opened (\(reason(code))); check the file's permissions and the daemon's user.",
                isRetryable: code == EMFILE || code == ENFILE || code == ENOMEM || code == EAGAIN)
        }
    }

    /// The failure for a path with `..`.
    static func parentInPath(_ path: String) -> KindFailure {
        KindFailure(
            .fileRefused,
            "\(path.printable) contains \"..\", which is not allowed; give the path to which it leads.")
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}

extension OpenFile.Identity {
    /// Whether the two identities differ at most in the inode's change time.
    func isPerhaps(_ other: Self) -> Bool {
        var same = self
        same.changedNs = other.changedNs
        return same == other
    }

    init(_ facts: stat) {
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
        size = Int64(facts.st_size)
        modifiedNs = Self.nanoseconds(facts.st_mtim)
        changedNs = Self.nanoseconds(facts.st_ctim)
    }

    /// The time in nanoseconds. It wraps around after the year 2262, which a file's owner may set; that is harmless,
    /// since it is only compared for equality.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
