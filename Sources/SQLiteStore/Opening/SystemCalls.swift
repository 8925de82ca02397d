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
