import Glibc

func systemMessage(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    // The XSI variant fills the buffer, even if the number is unknown.
    _ = strerror_r(code, &buffer, buffer.count)
    return buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
}

/// Syncs a directory, so that a name created or changed in it survives a power cut.
func syncDirectory(_ path: String) throws(StoreOpenError) {
    let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(operation: "open the directory", path: path, code: errno) }
    defer { Glibc.close(descriptor) }
    if fsync(descriptor) != 0 { throw .system(operation: "sync the directory", path: path, code: errno) }
}

/// Opens a file of a database.
///
/// - Throws: ``StoreOpenError/missingFile(path:)``, or an error that says which permission is missing.
func openFile(_ path: String, _ flags: Int32) throws(StoreOpenError) -> Int32 {
    let descriptor = Glibc.open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    if descriptor >= 0 { return descriptor }
    let isRead = flags & O_ACCMODE == O_RDONLY
    switch errno {
    case ENOENT: throw .missingFile(path: path)
    case EACCES, EPERM: throw isRead ? .unreadableFile(path: path) : .readOnlyFile(path: path)
    case EROFS: throw .readOnlyFile(path: path)
    default: throw .system(operation: "open", path: path, code: errno)
    }
}

/// The status of the file at `path`; nil, with `errno` set, if there is none.
func status(at path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
}

/// The status of an open file. The path is only for the error.
func status(of descriptor: Int32, _ path: String) throws(StoreOpenError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(operation: "inspect", path: path, code: errno) }
    return status
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
}

/// Returns the text of a file, such as one in `/proc`, which reports no size; nil if the file is not readable.
func text(ofFile path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count <= 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes += buffer[..<count]
    }
}

/// The kernel's id of the current boot; nil if a sandbox hides `/proc`.
let bootID = text(ofFile: "/proc/sys/kernel/random/boot_id").map { String($0.prefix { $0 > " " }) }
