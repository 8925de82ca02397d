import Glibc

/// The location of a database under its canonical path. Symbolic links are resolved, so that all names of one file lead
/// to the same lock.
struct DatabaseLocation: Sendable, Hashable {
    let directory: String
    let path: String

    var lockPath: String { path + "-lock" }
    /// The path at which a new database is created before it gets its final name.
    var draftPath: String { path + "-new" }

    init(_ given: String) throws(StoreOpenError) {
        if let file = Self.resolved(given) {
            path = file
            let slash = file.lastIndex(of: "/") ?? file.startIndex
            directory = slash == file.startIndex ? "/" : String(file[..<slash])
        } else {
            let code = errno
            if code == ENOTDIR { throw .notADirectory(path: Self.parent(of: given)) }
            guard code == ENOENT else { throw .system(operation: "resolve", path: given, code: code) }
            let parent = Self.parent(of: given)
            guard let directory = Self.resolved(parent) else { throw .missingDirectory(path: parent) }
            let name = given.split(separator: "/").last.map(String.init) ?? ""
            guard !name.isEmpty, name != ".", name != "..", !given.hasSuffix("/") else {
                throw .notARegularFile(path: given)
            }
            self.directory = directory
            path = directory == "/" ? "/" + name : directory + "/" + name
        }
    }

    /// Returns the path without symbolic links; nil, with `errno` set, if a part of it is missing.
    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Does nothing unless the process runs as root. Gives a new file to the owner of the database or, without a
    /// database, of its directory, and sets its mode, so that the daemon's user can use the file later. (SQLite does
    /// the same for the WAL.)
    func giveToOwner(_ descriptor: Int32, mode: mode_t) {
        guard geteuid() == 0, let owner = status(at: path) ?? status(at: directory) else { return }
        // On a file system without owners (FAT) this fails, which is harmless.
        _ = fchown(descriptor, owner.st_uid, owner.st_gid)
        _ = fchmod(descriptor, mode)
    }

    /// Checks that the directory is writable, since the write-ahead log is created in it. Also detects a read-only
    /// mount, which stops even root.
    func checkDirectory() throws(StoreOpenError) {
        guard let status = status(at: directory) else { throw .missingDirectory(path: directory) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .notADirectory(path: directory) }
        guard access(directory, W_OK | X_OK) == 0 else { throw .readOnlyDirectory(path: directory) }
    }

    /// The size of the file in bytes; nil if the file does not exist.
    func fileSize() throws(StoreOpenError) -> Int64? {
        guard let status = status(at: path) else {
            if errno == ENOENT { return nil }
            throw .system(operation: "inspect", path: path, code: errno)
        }
        guard status.isRegularFile else { throw .notARegularFile(path: path) }
        return Int64(status.st_size)
    }

    /// Throws if less than `needed` bytes are free. SQLite maps a file into memory; on a full disk, writing to that
    /// mapping would end the process with a fatal signal.
    func checkFreeSpace(atLeast needed: Int64) throws(StoreOpenError) {
        // A file system that does not report its free space is accepted.
        guard let free = Self.freeBytes(at: directory), free < needed else { return }
        throw .diskFull(path: directory, freeBytes: free, neededBytes: needed)
    }

    /// The free bytes of the file system that holds `path`; nil if it does not report them.
    static func freeBytes(at path: String) -> Int64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return nil }
        let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
        return Int64(clamping: UInt64(blocks) * UInt64(status.f_frsize))
    }
}
