import Glibc
import Jobs

/// Why a small file could not be read.
package struct FileError: Error, CustomStringConvertible {
    package var path: String
    package var code: Int32
    /// A better explanation than the error code, if there is one.
    package var finding: String?
    package var reason: String { finding ?? String(cString: strerror(code)) }
    package var description: String {
        finding.map { "\(path) \($0)." } ?? "\(path) cannot be read: \(reason). Check the path and its permissions."
    }
}

/// Reads a regular file as UTF-8 text. Fails if the file is larger than `limit` bytes.
package func readText(_ path: String, upTo limit: Int = 1 << 20) -> Result<String, FileError> {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return .failure(FileError(path: path, code: errno)) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .failure(FileError(path: path, code: errno)) }
    guard status.st_mode & S_IFMT == S_IFREG else {
        let finding =
            status.st_mode & S_IFMT == S_IFDIR ? "is a folder; use the path of a file" : "is not a regular file"
        return .failure(FileError(path: path, code: EISDIR, finding: finding))
    }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0 && errno == EINTR { continue }
        guard count >= 0 else { return .failure(FileError(path: path, code: errno)) }
        if count == 0 { break }
        bytes += buffer[..<count]
        guard bytes.count <= limit else { return .failure(FileError(path: path, code: EFBIG)) }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
        let place = InvalidUTF8(in: bytes).map { ": \($0)" } ?? ""
        return .failure(FileError(path: path, code: EILSEQ, finding: "is not UTF-8\(place); save it as UTF-8"))
    }
    return .success(text)
}
