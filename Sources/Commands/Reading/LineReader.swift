/// Splits what is read into lines, numbered from 1, and hands them out as they come: all that one read gave, at once. A line
/// that is too long may have no end, so nothing is read beyond its limit.
struct LineReader {
    struct Line {
        var number: Int
        var bytes: [UInt8]
    }

    private var reader: ByteReader
    private let limit: Int
    private var number = 1
    private var rest: [UInt8] = []
    private var isAtEnd = false
    /// The number of the line that was too long, after which there are no more.
    private(set) var tooLong: Int?

    init(_ reader: ByteReader, limit: Int) {
        self.reader = reader
        self.limit = limit
    }

    /// Whether more can be read without blocking.
    var isReady: Bool { !isAtEnd && reader.isReady }

    /// At least one line; nil at the end. Empty lines count but are left out.
    mutating func next() throws -> [Line]? {
        while !isAtEnd {
            var lines: [Line] = []
            guard let piece = try reader.next() else {
                isAtEnd = true
                finishLine(&lines)
                return lines.isEmpty ? nil : lines
            }
            var remaining = piece[...]
            while let end = remaining.firstIndex(of: UInt8(ascii: "\n")), take(remaining[..<end]) {
                finishLine(&lines)
                remaining = remaining[(end + 1)...]
            }
            if !isAtEnd { _ = take(remaining) }
            if !lines.isEmpty { return lines }
        }
        return nil
    }

    /// False where they do not fit into the line any more.
    private mutating func take(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count <= limit - rest.count else {
            (tooLong, isAtEnd) = (number, true)
            return false
        }
        rest += bytes
        return true
    }

    private mutating func finishLine(_ lines: inout [Line]) {
        let isBlank = rest.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        if !isBlank { lines.append(Line(number: number, bytes: rest)) }
        number += 1
        rest = []
    }
}
