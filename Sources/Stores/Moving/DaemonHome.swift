import Glibc
import SQLiteStore

/// The home of the daemon that uses a server's database, on the machine of a move, with the files of jobs.
///
/// The files stay in their folder, since results contain their paths. The home and the folder of the SQLite file share
/// them by symbolic links.
final class DaemonHome {
    let path: String
    /// The folder of the SQLite file.
    let folder: String
    private let file: String
    private var lock: DatabaseLock?
    /// The folders of files that belong to jobs: logs and results, sent files, and parts of uploads.
    private static let folders = ["files", "spool", "uploads"]

    /// - Throws: ``StoreOpenFailure`` if the folder of the file does not exist.
    init(_ path: String, nextTo file: String) throws(StoreOpenFailure) {
        self.path = path
        self.file = file
        let parent = Self.folder(of: file)
        guard let resolved = realpath(parent, nil) else { throw .missingDirectory(parent) }
        defer { free(resolved) }
        folder = String(cString: resolved)
    }

    /// The default home for the server's database: the folder `postgresql` next to the file.
    static func usual(nextTo file: String) -> String {
        let folder = absolute(folder(of: file))
        return folder == "/" ? "/postgresql" : folder + "/postgresql"
    }

    /// Makes a path absolute. The path need not exist.
    static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        // If the working directory does not exist, the relative path does not either.
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return path == "." ? String(cString: current) : String(cString: current) + "/" + path
    }

    private static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// Creates the home if there is none, and keeps its daemon from starting.
    ///
    /// - Throws: ``StoreOpenFailure``
    func reserve() throws(StoreOpenFailure) {
        if mkdir(path, 0o750) == 0 {
            giveToOwner(path)
        } else if errno != EEXIST {
            throw Self.failure("create the folder", path, errno)
        }
        do throws(StoreOpenError) {
            lock = try DatabaseLock.acquire(forDatabaseAt: path + "/daemon")
        } catch {
            guard case .locked(_, let pid) = error else { throw StoreOpenFailure(error) }
            let process = pid.map { "process \($0)" } ?? "another process"
            throw StoreOpenFailure(
                .reserved(pid: pid), "\(path) is the home of \(process), which is running. Stop that daemon first.")
        }
        giveToOwner(path + "/daemon-lock")
    }

    func release() { lock?.release() }

    /// The identity of the home's daemon. Creates it for a new home.
    func identity() throws(StoreOpenFailure) -> String {
        let identity = try DaemonIdentity.ofDaemon(in: path).text
        giveToOwner(path + "/daemon-id")
        return identity
    }

    /// The identity of the home's daemon; nil if there is none.
    func knownIdentity() throws(StoreOpenFailure) -> String? {
        access(path + "/daemon-id", F_OK) == 0 ? try DaemonIdentity.ofDaemon(in: path).text : nil
    }

    /// Refuses a home that belongs to another database.
    func refuseUnlessFor(_ database: String) throws(StoreOpenFailure) {
        if access(path + "/database-id", F_OK) == 0 { try HomeDatabase.bind(path, to: database) }
    }

    /// Binds the home to this database.
    func bind(to database: String) throws(StoreOpenFailure) {
        try HomeDatabase.bind(path, to: database)
        giveToOwner(path + "/database-id")
    }

    // MARK: Files

    /// Creates links in the home to the files of jobs in another folder.
    func takeFiles(from folder: String) throws(StoreOpenFailure) { try link(folder, from: path) }

    /// Creates links in another folder to the files of jobs in the home.
    func giveFiles(to folder: String) throws(StoreOpenFailure) { try link(path, from: folder) }

    private func link(_ source: String, from target: String) throws(StoreOpenFailure) {
        for name in Self.folders {
            guard let real = realpath("\(source)/\(name)", nil) else { continue }
            defer { free(real) }
            let content = String(cString: real)
            let path = "\(target)/\(name)"
            if let other = realpath(path, nil) {
                defer { free(other) }
                if String(cString: other) == content { continue }
                // Only an empty folder can be removed.
                guard rmdir(path) == 0 else {
                    throw StoreOpenFailure(
                        .wrong,
                        "\(path) contains files, but not those of \(content). Move the folder elsewhere, or remove it if nobody needs its files."
                    )
                }
            }
            guard symlink(content, path) == 0 else { throw Self.failure("create the link", path, errno) }
            giveToOwner(path)
        }
    }

    /// Gives a new file to the owner of the folder, if the process runs as root, so that the daemon's user can use it.
    private func giveToOwner(_ path: String) {
        guard geteuid() == 0 else { return }
        var owner = stat()
        guard stat(file, &owner) == 0 || stat(folder, &owner) == 0 else { return }
        // On a file system without owners (FAT) this fails, which is harmless.
        _ = lchown(path, owner.st_uid, owner.st_gid)
    }

    private static func failure(_ action: String, _ path: String, _ code: Int32) -> StoreOpenFailure {
        StoreOpenFailure(
            code == ENOSPC || code == EDQUOT ? .passing(errno: code) : .readOnly,
            "Cannot \(action) \(path) (\(String(cString: strerror(code)))). Run the command as the daemon's user.")
    }
}
