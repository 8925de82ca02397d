import Testing
import WorkerProtocol

@Suite struct LineReaderTests {
    @Test func linesThatArriveInPiecesAreJoined() throws {
        let found = try lines(in: ["a", "b\nc", "\n\nd", "\n"])
        #expect(found.lines == ["ab", "c", "", "d"])
        #expect(!found.isInLine)
    }

    @Test func anUnfinishedLineIsKept() throws {
        let found = try lines(in: ["a\n", "b"])
        #expect(found.lines == ["a"])
        #expect(found.isInLine)
    }

    @Test func everySplitOfTwoLinesGivesTheSameLines() throws {
        let text = "eins\nzwei\n"
        for split in 0...text.count {
            let pieces = [String(text.prefix(split)), String(text.dropFirst(split))]
            #expect(try lines(in: pieces).lines == ["eins", "zwei"])
        }
    }

    @Test func aLineOfExactlyTheLimitIsAccepted() throws {
        let half = String(repeating: "x", count: WorkerProtocol.maxLineBytes / 2)
        #expect(try lines(in: [half, half, "\n"]).lines.map(\.utf8.count) == [WorkerProtocol.maxLineBytes])
    }

    @Test func aLongerLineIsRefusedBeforeItEnds() throws {
        let problem = WorkerProtocolProblem("the line is longer than 2097152 bytes")
        let limit = String(repeating: "x", count: WorkerProtocol.maxLineBytes)
        #expect(throws: problem) { try lines(in: [limit, "x"]) }
        #expect(throws: problem) { try lines(in: [limit + "x\n"]) }
    }

    @Test func theErrorOfTheBodyStopsTheReader() throws {
        var seen: [String] = []
        var reader = LineReader()
        let bytes = Array("a\nb\n".utf8)
        do {
            try bytes.withUnsafeBytes { bytes in
                try reader.add(bytes) { line throws(WorkerProtocolProblem) in
                    seen.append(String(decoding: line, as: UTF8.self))
                    throw WorkerProtocolProblem("no more")
                }
            }
            Issue.record("the error was lost")
        } catch {
            #expect(error as? WorkerProtocolProblem == WorkerProtocolProblem("no more"))
        }
        #expect(seen == ["a"])
        #expect(reader.count == 0)
    }

    private func lines(in pieces: [String]) throws -> (lines: [String], isInLine: Bool) {
        var reader = LineReader()
        var lines: [String] = []
        for piece in pieces {
            let bytes = Array(piece.utf8)
            try bytes.withUnsafeBytes { bytes in
                try reader.add(bytes) { lines.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        return (lines, reader.isInLine)
    }
}
