import NIOCore
import Testing

@testable import Web

/// Pieces of a body use little more memory than their own bytes.
@Suite struct WaitingPiecesTests {
    @Test func bytesKeepTheirOrder() {
        var pieces = WaitingPieces()
        var sent: [UInt8] = []
        var received: [UInt8] = []
        for round in 0..<200 {
            let count = [1, 10, WaitingPieces.smallest - 1, WaitingPieces.smallest, 70_000][round % 5]
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 + round) }
            sent += bytes
            pieces.append(ByteBuffer(bytes: bytes))
            if round % 7 == 0, let piece = pieces.popFirst() { received += piece.readableBytesView }
            #expect(pieces.bytes == sent.count - received.count && pieces.isEmpty == (pieces.bytes == 0))
        }
        while let piece = pieces.popFirst() { received += piece.readableBytesView }
        #expect(received == sent && pieces.isEmpty && pieces.popFirst() == nil)
    }

    /// A chunk of one byte may arrive in a buffer of 64 KiB.
    @Test func smallPiecesDoNotKeepTheirBuffers() {
        var pieces = WaitingPieces()
        for _ in 0..<100_000 {
            var received = ByteBuffer(repeating: 0, count: 4096)
            pieces.append(received.readSlice(length: 1)!)
        }
        #expect(pieces.bytes == 100_000)
        var capacity = 0
        while let piece = pieces.popFirst() { capacity += piece.storageCapacity }
        #expect(capacity < 1 << 20)
    }
}
