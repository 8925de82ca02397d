import CLinux
import Glibc

/// Removes folders with untrusted content, whatever their depth, without following links.
///
/// A folder that is not empty is first moved to the top, so that no path is longer than two names. An entry that
/// vanishes meanwhile counts as removed.
struct FolderRemoval: ~Copyable {
    private let root: Int32
    private let path: String
    private static let prefix = ".remove-"
    /// The maximum number of folders that are moved at a time, since a program may create millions.
    private static let maxMoved = 1000
    /// A name as the file system stores it, which need not be UTF-8, with a NUL byte at its end.
    fileprivate typealias Name = [CChar]

    init(in path: String) throws(FileFailure) {
        self.path = path
        root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw FileFailure("open", path) }
    }

    deinit { close(root) }

    /// Removes all work folders, and nothing else: the configured folder may contain other files too.
    ///
    /// - Parameter onFailure: Receives the failure of each folder that remains.
    /// - Throws: The reason why the work folders cannot be listed.
    func removeAll(onFailure: (FileFailure) -> Void) throws(FileFailure) {
        guard let listing = try list(Array(".".utf8CString)) else { return }
        while let name = try next(of: listing, in: path) {
            let bytes = name.dropLast().map { UInt8(bitPattern: $0) }
            guard WorkFolder.isName(bytes[...]) || bytes.starts(with: Self.prefix.utf8) else { continue }
            do throws(FileFailure) {
                try remove(name)
            } catch {
                onFailure(error)
            }
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
            rest += try empty(next, &number)
        }
    }

    /// Removes what a folder contains, or a part of it. The names of files are not collected, since a program may create
    /// millions.
    ///
    /// - Returns: The new names of folders that were moved to the top.
    private func empty(_ folder: Name, _ number: inout Int) throws(FileFailure) -> [Name] {
        fchmodat(root, folder, 0o700, 0)
        guard let listing = try list(folder) else { return [] }
        var moved: [Name] = []
        var isEmpty = true
        while moved.count < Self.maxMoved, let entry = try next(of: listing, in: place(folder)) {
            isEmpty = false
            if unlinkat(listing.descriptor, entry, 0) == 0 || errno == ENOENT { continue }
            if unlinkat(listing.descriptor, entry, AT_REMOVEDIR) == 0 || errno == ENOENT { continue }
            guard errno == ENOTEMPTY || errno == EEXIST else {
                throw FileFailure("remove an entry in", place(folder))
            }
            // Moving a folder changes its entry "..", so it must be writable.
            fchmodat(listing.descriptor, entry, 0o700, 0)
            let top = freeName(&number)
            if renameat(listing.descriptor, entry, root, top) == 0 {
                moved.append(top)
            } else if errno != ENOENT {
                throw FileFailure("remove a folder in", place(folder))
            }
        }
        // A damaged folder may list nothing and still not be empty; listing it again would never end.
        if isEmpty, unlinkat(root, folder, AT_REMOVEDIR) != 0, errno != ENOENT {
            throw FileFailure("remove", place(folder))
        }
        return moved
    }

    private func freeName(_ number: inout Int) -> Name {
        var name: Name
        repeat {
            number += 1
            name = Array("\(Self.prefix)\(getpid())-\(number)".utf8CString)
        } while faccessat(root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
        return name
    }

    private func place(_ name: Name) -> String {
        "\(path)/" + String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Nil if the folder has vanished.
    private func list(_ folder: Name) throws(FileFailure) -> FolderListing? {
        let descriptor = openat(root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw FileFailure("list", place(folder)) }
        guard let stream = fdopendir(descriptor) else {
            let code = errno
            close(descriptor)
            throw FileFailure("list", place(folder), code)
        }
        return FolderListing(stream)
    }

    private func next(of listing: FolderListing, in path: String) throws(FileFailure) -> Name? {
        guard let name = listing.next() else {
            if listing.code == 0 || listing.code == ENOENT { return nil }
            throw FileFailure("list", path, listing.code)
        }
        return name
    }
}

/// The names in a folder, without "." and "..". Entries may be removed during the listing.
private final class FolderListing {
    private let stream: OpaquePointer
    /// The error that ended the listing; 0 for none.
    private(set) var code: Int32 = 0

    init(_ stream: OpaquePointer) { self.stream = stream }

    deinit { closedir(stream) }

    var descriptor: Int32 { dirfd(stream) }

    func next() -> FolderRemoval.Name? {
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                code = errno
                return nil
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
            }
            if name != Array(".".utf8CString), name != Array("..".utf8CString) { return name }
        }
    }
}
