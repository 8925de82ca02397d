import NIOCore
import NIOHTTP1
import WebSyntax

/// Parses the responses on one HTTP/1 connection according to RFC 9112, and as leniently as curl and browsers where
/// servers deviate from it.
///
/// NIO's own decoder refuses responses that browsers accept. Also, a server must not be able to produce parts in an
/// order that ``ExchangeHandler`` does not expect:
///
/// - I1: A part is returned only while a request is waiting for it.
/// - I2: A response consists of any number of heads with status 100 to 199, then one head with status 200 to 999, then
///   body parts, then one end.
/// - I3: Status 101 is never returned, since Halyard asks for no other protocol.
/// - I4: After a problem, this connection returns no further part.
/// - I5: Memory and work are bounded: there are limits for a head, for all heads with status 100 to 199 together, and
///   for the trailers. Body bytes are passed on as they arrive.
struct AnswerReader {
    /// The maximum number of interim responses (1xx) before a response. A server may use them to report its progress.
    static let mostInterimHeads = 1000
    /// The longest accepted line with a chunk's size and its extensions, in bytes.
    static let maxChunkLine = 4096

    private enum State {
        case idle
        /// A request was sent. `interim` counts the interim heads (1xx) so far, and `bytes` their size.
        case head(interim: Int, bytes: Int)
        case body(left: Int64)
        case bodyUntilClose
        case chunkSize
        case chunk(left: Int64)
        case chunkEnd
        /// `bytes` counts the bytes of the trailers so far.
        case trailers(bytes: Int)
        case end
        /// More bytes followed the end of the response.
        case surplus
        case refused
    }

    private let maxHeadBytes: Int
    private var state = State.idle
    private var method = HTTPMethod.GET
    private var buffer = ByteBuffer()
    /// The number of bytes in `buffer` that were already searched for the end of a line or head.
    private var scanned = 0

    init(maxHeadBytes: Int) { self.maxHeadBytes = maxHeadBytes }

    mutating func requestSent(_ method: HTTPMethod) {
        // I4. Bytes that arrived before the request must not be mistaken for its response either.
        guard case .idle = state else { return }
        state = .head(interim: 0, bytes: 0)
        self.method = method
    }

    /// Whether only the end of the connection ends the body that is being received.
    var endsWithConnection: Bool { if case .bodyUntilClose = state { true } else { false } }

    /// How much memory the received bytes occupy, including bytes that have already been parsed.
    var capacityInUse: Int { buffer.storageCapacity }

    mutating func receive(_ bytes: ByteBuffer) {
        if case .refused = state { return }
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            // I5. Otherwise bytes that were already parsed would stay in memory as long as every buffer ends within a
            // line.
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next part of the received bytes, or nil if more bytes are needed.
    ///
    /// - Throws: The problem in the received bytes, only once. The connection must not be used after that.
    mutating func next() throws(WireProblem) -> HTTPClientResponsePart? {
        do throws(WireProblem) {
            return try read()
        } catch {
            state = .refused
            buffer = ByteBuffer()
            throw error
        }
    }

    /// Handles the end of the connection. Call this after ``next()`` has returned nil.
    ///
    /// - Returns: The end of the response, if closing the connection completes it.
    mutating func close() -> HTTPClientResponsePart? {
        defer { state = .refused }
        if case .bodyUntilClose = state { return .end(nil) }
        return nil
    }

    private mutating func read() throws(WireProblem) -> HTTPClientResponsePart? {
        while true {
            switch state {
            case .refused: return nil
            case .idle:
                skipLineEnds()
                // I1
                if buffer.readableBytes > 0 { throw .unexpectedData }
                return nil
            case .head(let interim, let before):
                guard let bytes = try takeHead() else { return nil }
                return .head(try read(AnswerHead(bytes), after: interim, ending: before + bytes.count))
            case .body(let left):
                guard let bytes = takeBody(atMost: left) else { return nil }
                let rest = left - Int64(bytes.readableBytes)
                state = rest == 0 ? .end : .body(left: rest)
                return .body(bytes)
            case .bodyUntilClose: return takeBody(atMost: .max).map { .body($0) }
            case .chunkSize:
                guard let line = try takeLine(atMost: Self.maxChunkLine, or: .chunk) else { return nil }
                guard let size = Self.chunkSize(line) else { throw .chunk }
                state = size == 0 ? .trailers(bytes: 0) : .chunk(left: size)
            case .chunk(let left):
                guard let bytes = takeBody(atMost: left) else { return nil }
                let rest = left - Int64(bytes.readableBytes)
                state = rest == 0 ? .chunkEnd : .chunk(left: rest)
                return .body(bytes)
            case .chunkEnd:
                guard let line = try takeLine(atMost: 0, or: .chunk) else { return nil }
                if !line.isEmpty { throw .chunk }
                state = .chunkSize
            case .trailers(let bytes):
                guard let line = try takeLine(atMost: maxHeadBytes - bytes, or: .headTooLarge) else { return nil }
                state = line.isEmpty ? .end : .trailers(bytes: bytes + line.count + 1)
            case .end:
                skipLineEnds()
                state = buffer.readableBytes == 0 ? .idle : .surplus
                return .end(nil)
            case .surplus: throw .surplus
            }
        }
    }

    /// - Parameters:
    ///   - interim: The number of interim heads before this head.
    ///   - bytes: The size of this head and of the interim heads before it.
    private mutating func read(
        _ head: AnswerHead, after interim: Int, ending bytes: Int
    ) throws(WireProblem) -> HTTPResponseHead {
        var head = head
        switch head.status {
        case 100, 102...199:
            if interim >= Self.mostInterimHeads { throw .tooManyInterimHeads }
            if bytes > maxHeadBytes { throw .headTooLarge }
            state = .head(interim: interim + 1, bytes: bytes)
        // Browsers and curl accept statuses above 599, and well-known sites send them.
        case 200...999:
            switch try head.takeFraming(answering: method) {
            case .none: state = .end
            case .length(let length): state = length == 0 ? .end : .body(left: length)
            case .chunked: state = .chunkSize
            case .untilClose: state = .bodyUntilClose
            }
        // I2, I3
        default: throw .status(head.status)
        }
        return head.part
    }

    // MARK: Taking bytes

    /// Takes a head up to its empty line. A line ends with a line feed; a carriage return before it is ignored.
    private mutating func takeHead() throws(WireProblem) -> [UInt8]? {
        if scanned == 0 { skipLineEnds() }
        let view = buffer.readableBytesView
        // A response that is not HTTP is refused at once, without waiting for an empty line.
        if !view.prefix(5).elementsEqual("HTTP/".utf8.prefix(view.count)) { throw .notHTTP }
        guard let length = Self.headLength(in: view, from: &scanned) else {
            if view.count > maxHeadBytes { throw .headTooLarge }
            return nil
        }
        scanned = 0
        if length > maxHeadBytes { throw .headTooLarge }
        return buffer.readBytes(length: length)
    }

    /// - Parameter offset: Where the search begins. It moves past the bytes that need not be searched again.
    private static func headLength(in view: ByteBufferView, from offset: inout Int) -> Int? {
        while let feed = view[(view.startIndex + offset)...].firstIndex(of: UInt8(ascii: "\n")) {
            offset = feed - view.startIndex
            var next = feed + 1
            if next < view.endIndex, view[next] == UInt8(ascii: "\r") { next += 1 }
            guard next < view.endIndex else { return nil }
            if view[next] == UInt8(ascii: "\n") { return next + 1 - view.startIndex }
            offset += 1
        }
        offset = view.count
        return nil
    }

    /// - Parameter limit: The longest accepted line in bytes, not counting its line end.
    private mutating func takeLine(
        atMost limit: Int, or problem: WireProblem
    ) throws(WireProblem) -> [UInt8]? {
        let view = buffer.readableBytesView
        guard let feed = view[(view.startIndex + scanned)...].firstIndex(of: UInt8(ascii: "\n")) else {
            scanned = view.count
            if view.count > limit + 1 { throw problem }
            return nil
        }
        scanned = 0
        var line = buffer.readBytes(length: feed - view.startIndex + 1) ?? []
        line.removeLast()
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        if line.count > limit { throw problem }
        return line
    }

    private mutating func takeBody(atMost limit: Int64) -> ByteBuffer? {
        if buffer.readableBytes == 0 { return nil }
        return buffer.readSlice(length: Int(min(limit, Int64(buffer.readableBytes))))
    }

    private mutating func skipLineEnds() {
        let ends = buffer.readableBytesView.prefix { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        buffer.moveReaderIndex(forwardBy: ends.count)
    }

    /// Parses hexadecimal digits, and ignores an extension after them.
    private static func chunkSize(_ line: [UInt8]) -> Int64? {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard !digits.isEmpty else { return nil }
        var size: Int64 = 0
        for digit in digits {
            guard let value = hexDigit(digit), size < 1 << 59 else { return nil }
            size = size << 4 | Int64(value)
        }
        return size
    }
}
