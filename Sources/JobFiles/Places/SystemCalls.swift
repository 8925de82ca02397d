import Glibc

/// An open file, closed when the value is released.
final class OpenFile: Sendable {
    let descriptor: CInt
    let path: String

    /// - Parameter flags: The flags of `open`; `O_CLOEXEC` and `O_NOFOLLOW` are added.
    init(_ path: String, _ flags: CInt, mode: mode_t = 0o600) throws(JobFilesError) {
        let descriptor = repeated { open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode) }
        guard descriptor >= 0 else { throw .failed(action: "opening", path: path, errno: errno) }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    func facts() throws(JobFilesError) -> stat {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw failure("reading") }
        return facts
    }

    /// Returns fewer bytes only at the end of the file.
    func read(_ count: Int, at offset: Int64) throws(JobFilesError) -> [UInt8] {
        var code: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            while filled < count {
                let result = pread(descriptor, space.baseAddress! + filled, count - filled, off_t(offset) + filled)
                if result == 0 { return }
                if result > 0 {
                    filled += result
                } else if errno != EINTR {
                    code = errno
                    return
                }
            }
        }
        guard code == 0 else { throw .failed(action: "reading", path: path, errno: code) }
        return bytes
    }

    /// Writes all bytes at the end of the file, or returns the error number.
    func append(_ bytes: [UInt8]) -> CInt {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let result = Glibc.write(descriptor, part.baseAddress, part.count)
                if result >= 0 { rest = rest.dropFirst(result) } else if errno != EINTR { return errno }
            }
            return 0
        }
    }

    /// Waits until the content is on the disk.
    func synchronize() throws(JobFilesError) {
        guard repeated({ fsync(descriptor) }) == 0 else { throw failure("writing") }
    }

    func failure(_ action: String) -> JobFilesError { .failed(action: action, path: path, errno: errno) }
}

/// Repeats a call that a signal interrupts.
func repeated(_ call: () -> CInt) -> CInt {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// The names in a folder.
enum Folder {
    /// Returns an empty list for a folder that does not exist.
    static func names(in path: String) throws(JobFilesError) -> [String] {
        guard let list = opendir(path) else {
            if errno == ENOENT { return [] }
            throw .failed(action: "reading", path: path, errno: errno)
        }
        defer { closedir(list) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(list) {
            // Read the name in place: an entry is only as long as its name.
            guard let text = entry.pointer(to: \.d_name) else { continue }
            let name = String(validatingCString: UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self))
            if let name, name != ".", name != ".." { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw .failed(action: "reading", path: path, errno: errno) }
        return names
    }

    /// Creates a folder that only its owner can read. It may exist already.
    static func make(_ path: String) throws(JobFilesError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .failed(action: "creating", path: path, errno: errno)
        }
    }

    /// Waits until the folder's entries are on the disk.
    static func synchronize(_ path: String) throws(JobFilesError) {
        try OpenFile(path, O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// Removes a file, which may be missing already.
    static func unlinkFile(_ path: String) throws(JobFilesError) {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw .failed(action: "removing", path: path, errno: errno)
        }
    }
}
