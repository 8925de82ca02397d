import Testing
import WorkerProtocol

@Suite struct LineReaderTests {
    @Test func linesThatArriveInPiecesAreJoined() throws {
        var reader = LineReader()
        var lines: [String] = []
        for piece in ["a", "b\nc", "\n\nd"] {
            try Array(piece.utf8).withUnsafeBytes { bytes throws(WorkerProtocolProblem) in
                try reader.add(bytes) { lines.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        #expect(lines == ["ab", "c", ""])
        #expect(reader.isInLine)
    }
}
