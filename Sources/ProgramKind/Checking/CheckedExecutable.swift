import CLinux
import Glibc

/// An executable that only root and the daemon's user can change, open so that the checked file is the one that runs.
///
/// 1. Each folder on the path is opened from the one before it, without following a link, and checked through its
///    descriptor. A link is followed only from a checked folder.
/// 2. The file is checked through the descriptor that is executed. A file that replaces it later does not run.
/// 3. A script is refused if the kernel cannot execute it: without `#!`, or if its interpreter does not exist. A file that
///    this user cannot read is not judged.
struct CheckedExecutable: ~Copyable {
    /// An open descriptor of the file, which can only be executed.
    let descriptor: Int32
    /// The path without symbolic links.
    let path: String

    private static let maxLinks = 40

    /// Opens and checks an executable.
    ///
    /// - Parameter roots: The folders that may contain executables, as absolute paths.
    /// - Throws: ``ExecutableProblem``.
    init(_ path: String, roots: [String]) throws(ExecutableProblem) {
        if roots.isEmpty { throw .noRoots }
        if path.split(separator: "/").contains("..") { throw .namesParent(path: path, place: Self.resolved(path)) }
        if Self.isRoot(path, roots) { throw .notRegular(path: path) }
        guard Self.isBeneath(path, roots) else {
            // /bin is a link to /usr/bin on many systems.
            let place = Self.resolved(path).flatMap { Self.isBeneath($0, roots) ? $0 : nil }
            throw .outsideRoots(path: path, roots: roots, place: place)
        }
        let walk = try Walk()
        try walk.follow(path)
        // A root may itself be a symbolic link.
        var resolved: [String] = []
        for root in roots {
            resolved.append(root)
            if let real = Self.resolved(root) { resolved.append(real) }
        }
        guard Self.isBeneath(walk.path, resolved) else {
            throw .linkLeadsOutside(path: path, place: walk.path, roots: roots)
        }
        guard let file = walk.takeFile() else { throw .notRegular(path: walk.path) }
        if let problem = Self.scriptProblem(file, walk.path) {
            close(file)
            throw problem
        }
        self.path = walk.path
        descriptor = file
    }

    deinit { close(descriptor) }

    private static func isRoot(_ path: String, _ roots: [String]) -> Bool {
        let names = path.split(separator: "/")
        return roots.contains { $0.split(separator: "/") == names }
    }

    private static func isBeneath(_ path: String, _ roots: [String]) -> Bool {
        roots.contains { root in
            let folder = root.hasSuffix("/") ? root : root + "/"
            return path.hasPrefix(folder) && path.utf8.count > folder.utf8.count
        }
    }

    /// The path without symbolic links and without `..`; nil if it leads nowhere.
    private static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// The reason why the kernel cannot execute a text file. Every binary format that a kernel executes has zero bytes near
    /// its beginning.
    private static func scriptProblem(_ file: Int32, _ path: String) -> ExecutableProblem? {
        let readable = open("/proc/self/fd/\(file)", O_RDONLY | O_CLOEXEC)
        guard readable >= 0 else { return nil }
        defer { close(readable) }
        var beginning = [UInt8](repeating: 0, count: 256)
        let count = pread(readable, &beginning, beginning.count, 0)
        guard count >= 0 else { return nil }
        let text = beginning[..<count]
        guard text.starts(with: "#!".utf8) else { return text.contains(0) ? nil : .noInterpreter(path: path) }
        // A longer line is cut by the kernel too.
        guard let end = text.firstIndex(of: 0x0A) else { return nil }
        let line = text[2..<end]
        guard let interpreter = line.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 }).first else {
            return .noInterpreter(path: path)
        }
        if interpreter.last == 0x0D { return .carriageReturn(path: path) }
        let name = String(decoding: interpreter, as: UTF8.self)
        if access(name, F_OK) != 0, errno == ENOENT {
            return .missingInterpreter(path: path, interpreter: name)
        }
        return nil
    }

    /// A path that is followed from the root folder, one name after the other.
    private final class Walk {
        /// The open folders, from the root folder to the present one.
        private var folders: [Int32]
        private var names: [String] = []
        private var file: Int32 = -1
        private var links = 0

        var path: String { "/" + names.joined(separator: "/") }

        init() throws(ExecutableProblem) {
            let root = open("/", Int32(halyard_open_path) | O_DIRECTORY | O_CLOEXEC)
            guard root >= 0 else { throw .failed(path: "/", errno: errno) }
            folders = [root]
            try Self.check(root, "/")
        }

        deinit {
            for folder in folders { close(folder) }
            if file >= 0 { close(file) }
        }

        func takeFile() -> Int32? {
            defer { file = -1 }
            return file >= 0 ? file : nil
        }

        func follow(_ path: String) throws(ExecutableProblem) {
            var rest = Array(path.split(separator: "/").reversed())
            while let name = rest.popLast() {
                if name == "." { continue }
                // Only folders have further names.
                guard file < 0 else { throw .failed(path: self.path, errno: ENOTDIR) }
                if name == ".." {
                    if folders.count > 1 {
                        close(folders.removeLast())
                        names.removeLast()
                    }
                    continue
                }
                if let target = try step(String(name)) {
                    links += 1
                    guard links <= maxLinks else { throw .tooManyLinks(path: path) }
                    if target.hasPrefix("/") {
                        for folder in folders.dropFirst() { close(folder) }
                        folders.removeSubrange(1...)
                        names = []
                    }
                    rest += target.split(separator: "/").reversed()
                }
            }
        }

        /// Opens a name in the present folder.
        ///
        /// - Returns: The target of a symbolic link; nil if the name is a folder or a file.
        private func step(_ name: String) throws(ExecutableProblem) -> String? {
            let here = folders[folders.count - 1]
            let place = (names + [name]).reduce("") { "\($0)/\($1)" }
            let next = openat(here, name, Int32(halyard_open_path) | O_NOFOLLOW | O_CLOEXEC)
            guard next >= 0 else { throw .failed(path: place, errno: errno) }
            var facts = stat()
            guard fstat(next, &facts) == 0 else {
                let code = errno
                close(next)
                throw .failed(path: place, errno: code)
            }
            if facts.st_mode & S_IFMT == S_IFLNK {
                defer { close(next) }
                var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
                let length = target.withUnsafeMutableBytes { bytes in
                    readlinkat(next, "", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
                }
                guard length > 0 else { throw .failed(path: place, errno: errno) }
                return String(decoding: target.prefix(length), as: UTF8.self)
            }
            do throws(ExecutableProblem) {
                try Self.check(next, place)
                if facts.st_mode & S_IFMT != S_IFDIR { try Self.checkFile(next, facts, place) }
            } catch {
                close(next)
                throw error
            }
            names.append(name)
            if facts.st_mode & S_IFMT == S_IFDIR { folders.append(next) } else { file = next }
            return nil
        }

        /// Checks that nobody but root and this user can change a file or a folder.
        private static func check(_ descriptor: Int32, _ path: String) throws(ExecutableProblem) {
            var facts = stat()
            guard fstat(descriptor, &facts) == 0 else { throw .failed(path: path, errno: errno) }
            guard facts.st_uid == 0 || facts.st_uid == geteuid() else {
                throw .foreignOwner(path: path, owner: facts.st_uid)
            }
            // A sticky folder counts as well: others can create files in it.
            guard facts.st_mode & 0o022 == 0 else { throw .writable(path: path, mode: facts.st_mode & 0o7777) }
        }

        private static func checkFile(
            _ descriptor: Int32, _ facts: stat, _ path: String
        ) throws(ExecutableProblem) {
            guard facts.st_mode & S_IFMT == S_IFREG else { throw .notRegular(path: path) }
            guard facts.st_mode & 0o111 != 0 else { throw .notExecutable(path: path) }
            guard facts.st_mode & 0o6000 == 0 else { throw .setsID(path: path) }
            // A descriptor that cannot be read has no attributes of its own.
            if getxattr("/proc/self/fd/\(descriptor)", "security.capability", nil, 0) >= 0 {
                throw .hasCapabilities(path: path)
            }
        }
    }
}
