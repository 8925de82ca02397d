import ControlProtocol

/// Parses one HTTP/1.1 response. It is a value without I/O: bytes go in, an answer comes out.
///
/// The parser is strict: it rejects a response that two parsers could interpret differently.
struct ResponseReader {
    private enum State {
        case head
        /// A body of the announced length; the value is the number of missing bytes.
        case counted(Int)
        case chunkHead
        case chunk(Int)
        case chunkEnd
        case trailer
        /// A body without a length, which ends with the connection.
        case untilEnd
        case complete
    }

    private var state = State.head
    /// Bytes that were received but not parsed yet.
    private var rest: [UInt8] = []
    private var response = Answer(status: 0, body: [])

    /// The maximum size in bytes of a head, a trailer line or the line before a chunk.
    private static let maxHead = 64 << 10

    var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    /// The response once it is complete.
    var answer: Answer {
        var answer = response
        // There was only one request, so further bytes belong to no response.
        if !rest.isEmpty { answer.keepsConnection = false }
        return answer
    }

    mutating func read(_ bytes: ArraySlice<UInt8>) throws(ConnectionError) {
        rest += bytes
        while try advance() {}
    }

    /// Records that the connection has ended.
    mutating func readEnd() throws(ConnectionError) {
        guard case .untilEnd = state else { throw .closed }
        state = .complete
    }

    /// Parses the next element. Returns false if it needs more bytes, and at the end.
    private mutating func advance() throws(ConnectionError) -> Bool {
        switch state {
        case .head:
            guard let lines = try takeHead() else { return false }
            try begin(lines)
        case .counted(let missing):
            let count = takeBody(missing)
            state = count == missing ? .complete : .counted(missing - count)
            return false
        case .chunkHead:
            guard let line = try takeLine() else { return false }
            let digits = line.prefix { $0 != UInt8(ascii: ";") }
            guard let size = Self.number(digits, radix: 16) else { throw .malformed }
            state = size == 0 ? .trailer : .chunk(size)
        case .chunk(let missing):
            let count = takeBody(missing)
            state = count == missing ? .chunkEnd : .chunk(missing - count)
            return count == missing
        case .chunkEnd:
            guard let line = try takeLine() else { return false }
            guard line.isEmpty else { throw .malformed }
            state = .chunkHead
        case .trailer:
            guard let line = try takeLine() else { return false }
            if line.isEmpty { state = .complete }
        case .untilEnd:
            _ = takeBody(rest.count)
            return false
        case .complete: return false
        }
        return true
    }

    private mutating func takeBody(_ limit: Int) -> Int {
        let count = min(limit, rest.count)
        response.body += rest[..<count]
        rest.removeFirst(count)
        return count
    }

    /// Returns the bytes before the next line break; nil if there is none yet.
    private mutating func takeLine() throws(ConnectionError) -> [UInt8]? {
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
            guard rest.count <= Self.maxHead else { throw .malformed }
            return nil
        }
        guard end > 0, rest[end - 1] == UInt8(ascii: "\r") else { throw .malformed }
        let line = Array(rest[..<(end - 1)])
        rest.removeFirst(end + 1)
        return line
    }

    /// Returns the lines of the head; nil until its empty line has arrived.
    private mutating func takeHead() throws(ConnectionError) -> [[UInt8]]? {
        let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        guard let start = rest.indices.first(where: { rest[$0...].starts(with: end) }) else {
            guard rest.count <= Self.maxHead else { throw .malformed }
            return nil
        }
        guard start <= Self.maxHead else { throw .malformed }
        var lines: [[UInt8]] = []
        while let line = try takeLine(), !line.isEmpty { lines.append(line) }
        return lines
    }

    private mutating func begin(_ lines: [[UInt8]]) throws(ConnectionError) {
        guard let first = lines.first, let status = Status(first) else { throw .malformed }
        // Skip an informational response, which precedes the final one.
        if status.code < 200 { return }
        response.status = status.code
        response.keepsConnection = status.isPersistent
        var length: Int?
        var isChunked = false
        for line in lines.dropFirst() {
            guard let field = Field(line) else { throw .malformed }
            switch field.name {
            case "content-length":
                guard let value = Self.number(Array(field.value.utf8)[...], radix: 10), length ?? value == value else {
                    throw .malformed
                }
                length = value
            case "transfer-encoding":
                guard !isChunked, field.value.lowercased() == "chunked" else { throw .malformed }
                isChunked = true
            case "connection":
                if field.value.lowercased().split(whereSeparator: { ", \t".contains($0) }).contains("close") {
                    response.keepsConnection = false
                }
            case Self.databaseField: response.database = response.database ?? field.value
            default: break
            }
        }
        if isChunked, length != nil { throw .malformed }
        if status.code == 204 || status.code == 304 {
            state = .complete
        } else if isChunked {
            state = .chunkHead
        } else if let length {
            state = .counted(length)
        } else {
            state = .untilEnd
            response.keepsConnection = false
        }
    }

    private static let databaseField = DatabaseHeader.name.lowercased()

    /// Parses a number that has only digits and no sign.
    private static func number(_ digits: ArraySlice<UInt8>, radix: Int) -> Int? {
        guard digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-") else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: radix)
    }

    /// The parsed status line, such as `HTTP/1.1 200 OK`.
    private struct Status {
        let code: UInt
        /// Whether the connection stays open unless a header says otherwise.
        let isPersistent: Bool

        init?(_ line: [UInt8]) {
            let text = String(decoding: line, as: UTF8.self)
            guard text.hasPrefix("HTTP/1.1 ") || text.hasPrefix("HTTP/1.0 ") else { return nil }
            let parts = text.dropFirst(9).split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts[0].utf8.count == 3, parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let code = UInt(parts[0]),
                (100..<600).contains(code)
            else { return nil }
            self.code = code
            isPersistent = text.hasPrefix("HTTP/1.1")
        }
    }

    /// A parsed header, such as `Content-Length: 2`.
    private struct Field {
        /// The name in lower case.
        let name: String
        let value: String

        init?(_ line: [UInt8]) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
                line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
                // Control characters other than a tab are not allowed.
                line[colon...].allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { return nil }
            name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            var value = line[(colon + 1)...].drop(while: isBlank)
            while let last = value.last, isBlank(last) { value.removeLast() }
            self.value = String(decoding: value, as: UTF8.self)
        }
    }
}
