/// Splits what is read into lines, numbered from 1, and hands them out as they come: all that one read gave, at once. A line
/// that is too long is handed out as soon as that is known, however much of it follows.
struct LineReader {
    struct Line {
        var number: Int
        var bytes: [UInt8]
        /// Longer than the limit; `bytes` are only its beginning.
        var isTooLong: Bool
    }

    private var reader: ByteReader
    private let limit: Int
    private var number = 0
    private var rest: [UInt8] = []
    private var isCut = false
    private var isTold = false
    private var isAtEnd = false

    init(_ reader: ByteReader, limit: Int) {
        self.reader = reader
        self.limit = limit
    }

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
            while let end = remaining.firstIndex(of: UInt8(ascii: "\n")) {
                take(remaining[..<end])
                finishLine(&lines)
                remaining = remaining[(end + 1)...]
            }
            take(remaining)
            if isCut, !isTold {
                lines.append(Line(number: number + 1, bytes: rest, isTooLong: true))
                isTold = true
            }
            if !lines.isEmpty { return lines }
        }
        return nil
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>) {
        let room = limit - rest.count
        rest += bytes.prefix(room)
        if bytes.count > room { isCut = true }
    }

    private mutating func finishLine(_ lines: inout [Line]) {
        number += 1
        let isBlank = rest.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        if !isTold, !isBlank || isCut { lines.append(Line(number: number, bytes: rest, isTooLong: isCut)) }
        rest = []
        isCut = false
        isTold = false
    }
}
