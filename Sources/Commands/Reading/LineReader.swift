/// Splits input into numbered lines, from 1, and returns all lines of one read together. A line that exceeds
/// the limit may have no end, so reading stops there.
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
    /// The number of the line that exceeded the limit; no lines follow it.
    private(set) var tooLong: Int?

    init(_ reader: ByteReader, limit: Int) {
        self.reader = reader
        self.limit = limit
    }

    /// Whether more can be read without blocking.
    var isReady: Bool { !isAtEnd && reader.isReady }

    /// Returns at least one line; nil at the end. Empty lines are counted but left out.
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

    /// Adds bytes to the current line. Returns false if they exceed the limit.
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
