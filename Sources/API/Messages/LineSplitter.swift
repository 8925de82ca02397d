/// Splits chunks of bytes into lines. A line that is too long is dropped and reported once.
struct LineSplitter {
    enum Line: Equatable {
        case whole([UInt8])
        case tooLong
    }

    private let limit: Int
    private var rest: [UInt8] = []
    private var isSkipping = false

    init(limit: Int) { self.limit = limit }

    /// Returns the lines that end in `chunk`, without empty ones.
    mutating func add(_ chunk: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var start = chunk.startIndex
        while let end = chunk[start...].firstIndex(of: UInt8(ascii: "\n")) {
            append(chunk[start..<end])
            if let line = finish() { lines.append(line) }
            start = end + 1
        }
        append(chunk[start...])
        return lines
    }

    /// Ends the current line and returns it; nil if it is empty.
    mutating func finish() -> Line? {
        defer {
            rest = []
            isSkipping = false
        }
        if isSkipping { return .tooLong }
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        return rest.isEmpty ? nil : .whole(rest)
    }

    private mutating func append(_ part: ArraySlice<UInt8>) {
        guard !isSkipping, rest.count + part.count <= limit else {
            isSkipping = isSkipping || !part.isEmpty
            rest = []
            return
        }
        rest += part
    }
}
