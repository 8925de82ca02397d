import NIOCore

/// The body of a request.
package enum OutgoingBody: Sendable {
    case bytes(ByteBuffer)
    /// A stream of buffers, read one by one as the server accepts them; together they contain `length` bytes.
    case stream(any AsyncSequence<ByteBuffer, any Error> & Sendable, length: Int64)

    package var length: Int64 {
        switch self {
        case .bytes(let buffer): Int64(buffer.readableBytes)
        case .stream(_, let length): length
        }
    }
}
