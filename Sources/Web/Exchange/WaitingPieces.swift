import NIOCore

/// The pieces of a body that have arrived and that the task has not taken yet, in order.
///
/// A piece is a slice of the buffer that it was received in, and keeps the whole buffer in memory. So a small piece is
/// copied if other pieces wait before it; otherwise a server could make the client hold 64 KiB for each byte of its
/// body.
struct WaitingPieces {
    /// Pieces smaller than this many bytes are copied.
    static let smallest = 4 << 10

    private var whole: CircularBuffer<ByteBuffer> = []
    /// The small pieces that arrived after the pieces in `whole`, joined.
    private var tail = ByteBuffer()
    private(set) var bytes = 0

    var isEmpty: Bool { bytes == 0 }

    /// - Parameter piece: Must contain at least one byte.
    mutating func append(_ piece: ByteBuffer) {
        let isSmall = piece.readableBytes < Self.smallest
        if isSmall, !isEmpty { tail.writeImmutableBuffer(piece) }
        if !isSmall || tail.readableBytes >= Self.smallest { closeTail() }
        if !isSmall || isEmpty { whole.append(piece) }
        bytes += piece.readableBytes
    }

    mutating func popFirst() -> ByteBuffer? {
        if whole.isEmpty { closeTail() }
        guard let piece = whole.popFirst() else { return nil }
        bytes -= piece.readableBytes
        return piece
    }

    private mutating func closeTail() {
        if tail.readableBytes == 0 { return }
        whole.append(tail)
        tail = ByteBuffer()
    }
}
