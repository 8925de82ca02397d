import Glibc

/// The regular files that were named, and those beneath folders that were named.
struct FileTree {
    struct File {
        var path: String
        /// Within the folder that was named; the bare name of a file that was.
        var place: String
    }

    /// In the order of their names, folder by folder.
    private(set) var files: [File] = []
    /// Links, devices, pipes and sockets in folders: nobody meant to send them.
    private(set) var leftOut = 0
    /// Names in folders that no job could name, since its input is text.
    private(set) var unnameable = 0

    init(_ paths: [String]) throws {
        for path in paths {
            switch try Self.kind(of: path) {
            case S_IFDIR: try walk(Self.resolved(path), "")
            case S_IFREG:
                let place = String(path.split(separator: "/").last ?? "")
                files.append(File(path: try Self.resolved(path), place: place))
            default: throw CommandFailure(.noInput, "\(path) is not a regular file. Name a file or a folder.")
            }
        }
    }

    private mutating func walk(_ folder: String, _ place: String) throws {
        for name in try names(in: folder) {
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            let inside = place.isEmpty ? name : "\(place)/\(name)"
            var facts = stat()
            guard lstat(path, &facts) == 0 else { throw InputFile.failure(errno, path) }
            switch facts.st_mode & S_IFMT {
            case S_IFDIR: try walk(path, inside)
            case S_IFREG: files.append(File(path: path, place: inside))
            default: leftOut += 1
            }
        }
    }

    private static func kind(of path: String) throws -> mode_t {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw InputFile.failure(errno, path) }
        return facts.st_mode & S_IFMT
    }

    /// Where a link leads that was named: whoever names it means that, and the daemon follows none.
    private static func resolved(_ path: String) throws -> String {
        // With a slash behind it, lstat would follow it too.
        let bare = "/" + path.split(separator: "/").joined(separator: "/")
        let name = path.hasPrefix("/") ? bare : String(bare.dropFirst())
        var facts = stat()
        guard lstat(name, &facts) == 0 else { throw InputFile.failure(errno, path) }
        guard facts.st_mode & S_IFMT == S_IFLNK else { return path }
        guard let real = realpath(name, nil) else { throw InputFile.failure(errno, path) }
        defer { free(real) }
        guard let text = String(validatingCString: real) else {
            throw CommandFailure(.noInput, "\(path) leads to a name that is not UTF-8. Give that another name.")
        }
        return text
    }

    private mutating func names(in folder: String) throws -> [String] {
        guard let list = opendir(folder) else { throw InputFile.failure(errno, folder) }
        defer { closedir(list) }
        var names: [String] = []
        while let entry = readdir(list) {
            // Read in place: an entry is only as long as its name, and a copy of the whole array would read beyond it.
            guard let text = entry.pointer(to: \.d_name) else { continue }
            let bytes = UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self)
            guard let name = String(validatingCString: bytes) else {
                unnameable += 1
                continue
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
