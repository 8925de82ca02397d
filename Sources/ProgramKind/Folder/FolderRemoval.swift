import CLinux
import Glibc

/// Removes folders that strangers have filled: whatever their depth is, and without following a link.
///
/// A folder that is not empty is first moved to the top, so that no path is longer than two names.
struct FolderRemoval: ~Copyable {
    private let root: Int32
    private let path: String
    private static let prefix = ".remove-"
    /// A name as the file system stores it, which need not be UTF-8, with a NUL byte at its end.
    private typealias Name = [CChar]

    init(in path: String) throws(FileFailure) {
        self.path = path
        root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw FileFailure("open", path) }
    }

    deinit { close(root) }

    /// Removes all work folders, and nothing else: somebody may have named a folder with other content.
    func removeAll() throws(FileFailure) {
        for name in try names(of: Array(".".utf8CString)) {
            let bytes = name.dropLast().map { UInt8(bitPattern: $0) }
            if WorkFolder.isName(bytes[...]) || bytes.starts(with: Self.prefix.utf8) { try remove(name) }
        }
    }

    func remove(_ name: String) throws(FileFailure) { try remove(Array(name.utf8CString)) }

    private func remove(_ name: Name) throws(FileFailure) {
        if unlinkat(root, name, 0) == 0 || errno == ENOENT { return }
        var rest = [name]
        var number = 0
        while let next = rest.last {
            if unlinkat(root, next, AT_REMOVEDIR) == 0 || errno == ENOENT {
                rest.removeLast()
                continue
            }
            guard errno == ENOTEMPTY || errno == EEXIST else { throw FileFailure("remove", place(next)) }
            fchmodat(root, next, 0o700, 0)
            let folder = openat(root, next, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard folder >= 0 else { throw FileFailure("open", place(next)) }
            defer { close(folder) }
            for entry in try names(of: next) {
                if unlinkat(folder, entry, 0) == 0 || errno == ENOENT { continue }
                if unlinkat(folder, entry, AT_REMOVEDIR) == 0 || errno == ENOENT { continue }
                // Moving a folder changes its entry "..", so it must be writable.
                fchmodat(folder, entry, 0o700, 0)
                var top: Name
                repeat {
                    number += 1
                    top = Array("\(Self.prefix)\(getpid())-\(number)".utf8CString)
                } while faccessat(root, top, F_OK, AT_SYMLINK_NOFOLLOW) == 0
                guard renameat(folder, entry, root, top) == 0 else {
                    throw FileFailure("remove a folder in", place(next))
                }
                rest.append(top)
            }
        }
    }

    private func place(_ name: Name) -> String {
        "\(path)/" + String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func names(of folder: Name) throws(FileFailure) -> [Name] {
        let descriptor = openat(root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0, let listing = fdopendir(descriptor) else {
            throw FileFailure("list", place(folder))
        }
        defer { closedir(listing) }
        var names: [Name] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
            }
            if name != Array(".".utf8CString), name != Array("..".utf8CString) { names.append(name) }
        }
        return names
    }
}
