import API
import ControlProtocol
import Glibc
import JobFiles
import Jobs
import Settings
import Stores

/// The reasons why the daemon could not start with a configuration on this machine, each with its configuration
/// key. The check only reads; it creates and changes nothing.
struct ConfigurationCheck: Sendable, Hashable {
    /// The caller of the check.
    enum Purpose: Hashable {
        case start(opensSocket: Bool)
        /// A reload, which checks only the settings that it can change.
        case reload
        /// `--check-config`, which any user may run.
        case check
    }

    private(set) var errors: [String] = []
    /// Whether an error needs a correction. Other errors may disappear: a disk is mounted later, or a folder is
    /// created.
    private(set) var isPermanent = false
    /// The `errno` of the first error that may disappear.
    private(set) var code: Int32?
    /// Findings that may not affect the daemon itself: it may run as another user, or systemd may create a
    /// missing folder.
    private(set) var warnings: [String] = []
    private let purpose: Purpose

    init(_ configuration: DaemonConfiguration, for purpose: Purpose) {
        self.purpose = purpose
        checkPrograms(configuration)
        checkGrace(configuration)
        if purpose == .reload { return }
        if purpose != .start(opensSocket: false) { checkGroup(configuration) }
        let home = configuration.homeDirectory
        for (key, path) in configuration.ownFolders { checkOwnFolder(key, path, home: home) }
        // A start finds the problems below by itself, when it opens the database and the socket. A check cannot
        // know whether the service manager will create the folders.
        guard purpose == .check else { return }
        checkDatabase(configuration)
        if configuration.socket.utf8.count > ControlSocket.maxPathBytes {
            add("socket", SocketError.pathTooLong(path: configuration.socket, limit: ControlSocket.maxPathBytes))
        }
        if configuration.databaseURL == nil {
            checkParent("database", configuration.database, usual: StandardPaths.database)
        }
        checkParent("socket", configuration.socket, usual: StandardPaths.socket)
    }

    private mutating func add(_ key: String, _ problem: String, _ code: Int32? = nil, remedy: String) {
        let reason = code.map { " (\(String(cString: strerror($0))))" } ?? ""
        if purpose == .check, code == EACCES || code == EPERM {
            warnings.append("\(key): \(problem)\(reason) by this user; the daemon's user must be able to")
        } else {
            errors.append("\(key): \(problem)\(reason); \(remedy)")
            if let code, isTransient(code) { self.code = self.code ?? code } else { isPermanent = true }
        }
    }

    /// Adds a worker's refusal of a setting, which ends with a remedy.
    mutating func add(_ refusal: String, _ code: Int32?) {
        if purpose == .check, code == EACCES || code == EPERM {
            let finding = refusal[..<(refusal.lastIndex(of: ";") ?? refusal.endIndex)]
            warnings.append("\(finding) by this user; the daemon's user must be able to")
        } else {
            errors.append(refusal)
            if let code, isTransient(code) { self.code = self.code ?? code } else { isPermanent = true }
        }
    }

    /// Adds an error that the start would report.
    private mutating func add(_ key: String, _ problem: some CustomStringConvertible) {
        errors.append("\(key): \(problem)")
        isPermanent = true
    }

    // MARK: Checks

    /// Checks that attempts which ignore the request to stop are over before the lease ends.
    private mutating func checkGrace(_ configuration: DaemonConfiguration) {
        guard configuration.databaseURL != nil else { return }
        let longest = configuration.lease / 10 * 4
        guard configuration.grace > longest else { return }
        add(
            "grace",
            "\(configuration.grace.human) is too long for daemon.lease, \(configuration.lease.human): a job must stop before another daemon runs it",
            remedy: "use at most \(longest.human), or raise daemon.lease")
    }

    private mutating func checkGroup(_ configuration: DaemonConfiguration) {
        guard let group = configuration.socketGroup else { return }
        guard let id = groupNumber(named: group) else {
            return add("socket_group", "there is no group \"\(group)\"", remedy: "create it, or use another group")
        }
        if purpose == .check, geteuid() != 0, !isMember(of: id) {
            add("socket_group", "the socket cannot be given to \(group)", EPERM, remedy: "")
        }
    }

    private func isMember(of group: gid_t) -> Bool {
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = getgroups(Int32(groups.count), &groups)
        return getegid() == group || groups.prefix(max(0, Int(count))).contains(group)
    }

    /// Checks that the result files of programs can be moved to their jobs.
    private mutating func checkPrograms(_ configuration: DaemonConfiguration) {
        if configuration.programRoots.isEmpty { return }
        let (work, files) = (configuration.programDirectory, configuration.filesDirectory)
        if FileSystem.isShared(by: work, and: files) { return }
        add(
            "program.directory",
            "\(work) is on another file system than \(files), where the files of jobs are kept, so files cannot be moved or linked between the two",
            remedy: "use a folder on the file system of the daemon's other files")
    }

    /// Checks that the daemon may use an existing folder, or may create a missing one.
    private mutating func checkOwnFolder(_ key: String, _ path: String, home: String) {
        let remedy = "use a folder that the daemon's user can write to"
        var facts = stat()
        if stat(path, &facts) == 0 {
            if facts.st_mode & S_IFMT != S_IFDIR { return add(key, "\(path) is not a folder", remedy: remedy) }
            if access(path, R_OK | W_OK | X_OK) != 0 {
                add(key, "\(path) cannot be written", errno, remedy: remedy)
            }
            return
        }
        guard errno == ENOENT else { return add(key, "\(path) cannot be accessed", errno, remedy: remedy) }
        let parent = folder(of: path)
        if access(parent, W_OK | X_OK) != 0 {
            // The check of the home, or of the database in it, reports this problem.
            if parent == home, errno == ENOENT { return }
            // The service manager creates the folder of the default home.
            if path == home, errno == ENOENT, mayBeCreatedByServiceManager(path) { return }
            return add(key, "\(path) cannot be created in \(parent)", errno, remedy: remedy)
        }
        var space = statvfs()
        if purpose == .check, statvfs(parent, &space) == 0, space.f_blocks == 0 {
            add(key, "\(path) cannot be created in \(parent), which cannot contain ordinary files", remedy: remedy)
        }
    }

    /// Checks the database as a start does, without the steps that change it.
    private mutating func checkDatabase(_ configuration: DaemonConfiguration) {
        let path = configuration.database
        do throws(StoreOpenFailure) {
            let opening = StoreFactory.opening(
                configuration.address, for: .lasting, onServer: configuration.server)
            if let unchecked = try opening.check() { warnings.append("database: \(unchecked)") }
        } catch {
            switch error.cause {
            // `checkParent` checks the folder.
            case .missing: return
            case .unreadable:
                // If the folder is not accessible, `checkParent` reports that instead.
                guard access(folder(of: path), X_OK) == 0 else { return }
                add("database", "\(path) cannot be read", EACCES, remedy: "give the daemon's user read permission")
            default: add("database", error)
            }
        }
    }

    private mutating func checkParent(_ key: String, _ path: String, usual: String) {
        let parent = folder(of: path)
        if access(parent, W_OK | X_OK) == 0 { return }
        guard errno == ENOENT else {
            return add(key, "nothing can be created in \(parent)", errno, remedy: "use another path")
        }
        if path == usual { return }
        if mayBeCreatedByServiceManager(parent) {
            warnings.append("\(key): there is no folder \(parent); create it, or let the service manager create it")
        } else if key == "database" {
            add(key, StoreOpenFailure.missingDirectory(parent))
        } else {
            errors.append("\(key): there is no folder \(parent). Create it, or set another path for the \(key).")
        }
    }
}

/// Whether the problem behind an `errno` of a file operation may disappear without a change of the configuration.
func isTransient(_ code: Int32) -> Bool {
    switch code {
    case ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EINVAL, EILSEQ, EFBIG: false
    default: true
    }
}

/// Whether a service's `StateDirectory=` or `RuntimeDirectory=` may create the folder.
private func mayBeCreatedByServiceManager(_ folder: String) -> Bool {
    let home = getenv("HOME").map { String(cString: $0) + "/.local/state" }
    let state = getenv("XDG_STATE_HOME").map { String(cString: $0) }
    return (["/var/lib", "/run"] + [home, state].compactMap(\.self)).contains { folder.hasPrefix($0 + "/") }
}

/// Returns the number of a group, or nil if there is none of that name.
func groupNumber(named name: String) -> gid_t? {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 65_536)
    let code = getgrnam_r(name, &entry, &buffer, buffer.count, &found)
    return code == 0 && found != nil ? entry.gr_gid : nil
}

/// Returns the folder of an absolute path.
private func folder(of path: String) -> String {
    let names = path.split(separator: "/").dropLast()
    return "/" + names.joined(separator: "/")
}
