import Glibc
import StoreControl

/// The regular files among the given paths and in the given folders.
struct FileTree {
    struct File {
        var path: String
        /// The path within the given folder; for a given file, its bare name.
        var relativePath: String

        var isStandardInput: Bool { path == Spooling.standardInput }
    }

    /// An entry of a folder that is not a regular file, or that no job could name.
    struct LeftOut {
        var path: String
        var reason: String
    }

    /// In the order of their names, folder by folder.
    private(set) var files: [File] = []
    private(set) var leftOut: [LeftOut] = []
    /// The given links, and the paths to which they lead.
    private(set) var followed: [(link: String, real: String)] = []

    /// - Parameter paths: Files and folders; `-` is standard input, at most once.
    init(_ paths: [String]) throws {
        if paths.filter({ $0 == Spooling.standardInput }).count > 1 {
            throw CommandFailure(.usage, "Standard input can be read only once. Give one -.")
        }
        for path in paths {
            if path == Spooling.standardInput {
                files.append(File(path: path, relativePath: ""))
                continue
            }
            switch try Self.kind(of: path) {
            case S_IFDIR: try walk(resolved(path), "")
            case S_IFREG:
                let relativePath = String(path.split(separator: "/").last ?? "")
                files.append(File(path: try resolved(path), relativePath: relativePath))
            default: throw CommandFailure(.noInput, "\(path) is not a regular file. Name a file or a folder.")
            }
        }
    }

    private mutating func walk(_ folder: String, _ relativePath: String) throws {
        for name in try names(in: folder) {
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            let inside = relativePath.isEmpty ? name : "\(relativePath)/\(name)"
            var facts = stat()
            guard lstat(path, &facts) == 0 else { throw InputFile.failure(errno, path) }
            switch facts.st_mode & S_IFMT {
            case S_IFDIR: try walk(path, inside)
            case S_IFREG: files.append(File(path: path, relativePath: inside))
            case let kind: leftOut.append(LeftOut(path: path, reason: Self.name(of: kind)))
            }
        }
    }

    private static func name(of kind: mode_t) -> String {
        switch kind {
        case S_IFLNK: "a link"
        case S_IFSOCK: "a socket"
        case S_IFIFO: "a pipe"
        default: "a device"
        }
    }

    private static func kind(of path: String) throws -> mode_t {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw InputFile.failure(errno, path) }
        return facts.st_mode & S_IFMT
    }

    /// Returns the target of a given link. A caller who names a link means its target, and the daemon follows
    /// no links.
    private mutating func resolved(_ path: String) throws -> String {
        // lstat would also follow the link if the name ended with a slash.
        let bare = "/" + path.split(separator: "/").joined(separator: "/")
        let name = path.hasPrefix("/") ? bare : String(bare.dropFirst())
        var facts = stat()
        guard lstat(name, &facts) == 0 else { throw InputFile.failure(errno, path) }
        guard facts.st_mode & S_IFMT == S_IFLNK else { return path }
        guard let real = realpath(name, nil) else { throw InputFile.failure(errno, path) }
        defer { free(real) }
        guard let text = String(validatingCString: real) else {
            throw CommandFailure(.noInput, "\(path) leads to a name that is not UTF-8. Rename that file.")
        }
        followed.append((path, text))
        return text
    }

    private mutating func names(in folder: String) throws -> [String] {
        guard let found = FolderNames(folder) else { throw InputFile.failure(errno, folder) }
        leftOut += found.repaired.map { LeftOut(path: "\(folder)/\($0)", reason: "not UTF-8") }
        return found.names.sorted()
    }
}
