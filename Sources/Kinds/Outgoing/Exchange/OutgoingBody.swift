import NIOCore

/// The body of a request.
enum OutgoingBody: Sendable {
    case bytes(ByteBuffer)
    /// Buffers that are asked for one by one, as the server takes them; together they hold `length` bytes.
    case stream(any AsyncSequence<ByteBuffer, any Error> & Sendable, length: Int64)

    var length: Int64 {
        switch self {
        case .bytes(let buffer): Int64(buffer.readableBytes)
        case .stream(_, let length): length
        }
    }
}
