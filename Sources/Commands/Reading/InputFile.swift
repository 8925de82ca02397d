import Glibc
import Jobs

/// A file that the caller named, or standard input for `-`. The file is closed when the value is released.
final class InputFile: Sendable {
    let name: String
    let descriptor: Int32
    private let isOwned: Bool

    init(_ path: String, in surroundings: Surroundings) throws {
        if path == "-" {
            name = "standard input"
            descriptor = surroundings.input
            isOwned = false
            return
        }
        name = path
        isOwned = true
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw Self.failure(errno, path) }
        var facts = stat()
        if fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR {
            close(descriptor)
            throw Self.failure(EISDIR, path)
        }
    }

    deinit { if isOwned { close(descriptor) } }

    var reader: ByteReader { ByteReader(descriptor: descriptor, name: name) }

    /// The size in bytes; nil for a source without one, such as a pipe.
    var size: Int64? {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(facts.st_size)
    }

    func readAll(limit: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var reader = reader
        while let piece = try reader.next() {
            bytes += piece
            guard bytes.count <= limit else {
                throw CommandFailure(.data, "\(name) has more than \(AmountText.bytes(Int64(limit))). Make it smaller.")
            }
        }
        return bytes
    }

    func readText(limit: Int) throws -> String {
        let bytes = try readAll(limit: limit)
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let place = InvalidUTF8(in: bytes).map { ": \($0)" } ?? ""
        throw CommandFailure(.data, "\(name) is not UTF-8\(place). Save it as UTF-8.")
    }

    static func failure(_ code: Int32, _ name: String) -> CommandFailure {
        switch code {
        case ENOENT, ENOTDIR: CommandFailure(.noInput, "There is no file \(name). Check the name.")
        case EACCES, EPERM:
            CommandFailure(.permission, "Permission to read \(name) was denied. Check its mode and owner.")
        case EISDIR: CommandFailure(.data, "\(name) is a folder; name a file.")
        case ENAMETOOLONG: CommandFailure(.noInput, "The file name \(name) is too long. Check it.")
        default:
            CommandFailure(.inputOutput, "\(name) cannot be read: \(String(cString: strerror(code))). Check the file.")
        }
    }
}

/// The contents of a file in chunks, for sending.
struct FilePieces: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    let file: InputFile

    struct Iterator: AsyncIteratorProtocol {
        /// Keeps the descriptor open.
        let file: InputFile
        var reader: ByteReader

        mutating func next() async throws -> [UInt8]? { try reader.next() }
    }

    func makeAsyncIterator() -> Iterator { Iterator(file: file, reader: file.reader) }
}
