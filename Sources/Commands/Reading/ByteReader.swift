import Glibc

/// Reads a file descriptor in chunks.
struct ByteReader {
    private let descriptor: Int32
    private let name: String
    private static let pieceSize = 256 << 10

    /// - Parameter name: The name of the source, for messages.
    init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    /// Whether ``next()`` returns at once.
    var isReady: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) > 0
    }

    /// Returns the available bytes, at least one; nil at the end. Waits until there are any.
    mutating func next() throws -> [UInt8]? {
        let descriptor = descriptor
        while true {
            var failure: Int32 = 0
            let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
                let found = read(descriptor, buffer.baseAddress, buffer.count)
                if found < 0 { failure = errno }
                count = max(0, found)
            }
            if failure == EINTR { continue }
            if failure != 0 { throw InputFile.failure(failure, name) }
            return piece.isEmpty ? nil : piece
        }
    }
}
