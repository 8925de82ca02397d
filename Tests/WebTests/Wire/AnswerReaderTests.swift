import NIOCore
import NIOHTTP1
import Testing

@testable import Web

/// Responses of all kinds of servers, received in one piece and byte by byte.
@Suite struct AnswerReaderTests {
    /// A response as the client sees it.
    struct Seen: Equatable {
        var interim: [Int] = []
        var status: Int?
        var headers: [String] = []
        var body = ""
        var isComplete = false
        var problem: WireProblem?
    }

    /// - Parameter isClosed: Whether the server closes the connection after the response.
    private func read(
        _ text: String, by count: Int = .max, method: HTTPMethod = .GET, isClosed: Bool = true,
        maxHeadBytes: Int = 65_536
    ) -> Seen {
        read(Array(text.utf8), by: count, method: method, isClosed: isClosed, maxHeadBytes: maxHeadBytes)
    }

    private func read(
        _ bytes: [UInt8], by count: Int = .max, method: HTTPMethod = .GET, isClosed: Bool = true,
        maxHeadBytes: Int = 65_536
    ) -> Seen {
        var reader = AnswerReader(maxHeadBytes: maxHeadBytes)
        reader.requestSent(method)
        var seen = Seen()
        var rest = bytes[...]
        do throws(WireProblem) {
            while !rest.isEmpty {
                reader.receive(ByteBuffer(bytes: rest.prefix(count)))
                rest = rest.dropFirst(count)
                while let part = try reader.next() { note(part, &seen) }
            }
        } catch {
            seen.problem = error
            #expect(throws: Never.self) { try reader.next() == nil }
        }
        if isClosed, let part = reader.close() { note(part, &seen) }
        return seen
    }

    private func note(_ part: HTTPClientResponsePart, _ seen: inout Seen) {
        switch part {
        case .head(let head):
            #expect(seen.status == nil && !seen.isComplete)
            if head.status.code < 200 {
                seen.interim.append(Int(head.status.code))
            } else {
                seen.status = Int(head.status.code)
                seen.headers = head.headers.map { "\($0.name): \($0.value)" }
            }
        case .body(let bytes):
            #expect(seen.status != nil && !seen.isComplete && bytes.readableBytes > 0)
            seen.body += String(buffer: bytes)
        case .end:
            #expect(seen.status != nil && !seen.isComplete)
            seen.isComplete = true
        }
    }

    private func expect(
        _ text: String, method: HTTPMethod = .GET, isClosed: Bool = true, _ expected: Seen,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for count in [1, 2, 7, .max] {
            let seen = read(text, by: count, method: method, isClosed: isClosed)
            #expect(seen == expected, "\(text.debugDescription) by \(count)", sourceLocation: sourceLocation)
        }
    }

    @Test func bodyEndsAsTheHeadSays() {
        let ok = Seen(status: 200, headers: ["content-length: 5"], body: "hello", isComplete: true)
        expect("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", isClosed: false, ok)
        expect("HTTP/1.1 200 OK\ncontent-length: 5\n\nhello", isClosed: false, ok)
        expect("\r\n\nHTTP/1.1 200\r\ncontent-length:5 \r\n\n" + "hello\r\n", isClosed: false, ok)
        let chunked = Seen(status: 200, headers: ["transfer-encoding: Chunked"], body: "hello", isComplete: true)
        expect(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2;a=b\r\nhe\r\n03 \r\nllo\r\n0\r\nx: y\r\n\r\n",
            isClosed: false, chunked)
        expect("HTTP/1.1 200 OK\ntransfer-encoding: Chunked\n\n5\nhello\n0\n\n", isClosed: false, chunked)
        expect(
            "HTTP/1.1 200 OK\r\n\r\nhello",
            Seen(status: 200, headers: ["connection: close"], body: "hello", isComplete: true))
    }

    /// RFC 9112, 6.3: chunked framing takes precedence, and the connection is not reused.
    @Test func lengthBesideChunksIsIgnored() {
        let expected = Seen(
            status: 200, headers: ["Transfer-Encoding: chunked", "connection: close"], body: "hello", isComplete: true)
        let body = "5\r\nhello\r\n0\r\n\r\n"
        for length in ["3", "5", "-1", "x", "99999999999999999999"] {
            expect(
                "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\nTransfer-Encoding: chunked\r\n\r\n\(body)",
                isClosed: false, expected)
        }
        expect("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)", isClosed: false, expected)
    }

    @Test func equalLengthsAreOne() {
        for fields in ["Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2, 2"] {
            let seen = read("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nok")
            #expect(seen.isComplete && seen.body == "ok" && seen.headers == ["content-length: 2"])
        }
    }

    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2, 3", "Content-Length: -1", "Content-Length: +2",
        "Content-Length: 0x2", "Content-Length:", "Content-Length: 9223372036854775808", "Content-Length: 2 2",
    ])
    func lengthThatMakesNoSenseIsRefused(fields: String) {
        #expect(read("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nok").problem == .contentLength)
    }

    @Test(arguments: ["gzip", "gzip, chunked", "chunked, chunked", "chunked, gzip", "x"])
    func otherTransferCodingsAreRefused(coding: String) {
        #expect(read("HTTP/1.1 200 OK\r\ntransfer-encoding: \(coding)\r\n\r\n0\r\n\r\n").problem == .transferCoding)
    }

    @Test(arguments: [
        "g\r\n", "\r\n", "-1\r\n", "ffffffffffffffff\r\n", "2\r\nhelp", "2\r\nhe\n\n\n",
        "2" + String(repeating: " ", count: 5000),
    ])
    func wrongChunksAreRefused(body: String) {
        for count in [1, .max] {
            #expect(read("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\(body)", by: count).problem == .chunk)
        }
    }

    @Test(arguments: [
        "nonsense", "H", "HTTP/2 200\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n", "HTTP/1.12 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ])
    func otherProtocolsAreRefused(text: String) {
        for count in [1, .max] where text != "H" {
            let seen = read(text, by: count)
            #expect(seen.problem == .notHTTP && seen.status == nil)
        }
        #expect(!read("H").isComplete)
    }

    @Test func answersWithoutABody() {
        for (method, status) in [(HTTPMethod.HEAD, 200), (.GET, 204), (.GET, 304)] {
            for fields in ["content-length: 5\r\n", "transfer-encoding: chunked\r\n", "content-length: x\r\n", ""] {
                let seen = read("HTTP/1.1 \(status) X\r\n\(fields)\r\n", method: method, isClosed: false)
                #expect(seen.isComplete && seen.problem == nil && seen.body.isEmpty)
            }
        }
    }

    @Test func interimHeadsPass() {
        expect(
            "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 X\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            isClosed: false,
            Seen(interim: [100, 103], status: 200, headers: ["content-length: 0"], isComplete: true))
        let flood = String(repeating: "HTTP/1.1 100 X\r\n\r\n", count: 1001)
        #expect(read(flood).problem == .tooManyInterimHeads)
        let long = "HTTP/1.1 103 X\r\nlink: \(String(repeating: "a", count: 30_000))\r\n\r\n"
        #expect(read(long + long + "HTTP/1.1 200 OK\r\n\r\n").isComplete)
        #expect(read(long + long + long).problem == .headTooLarge)
    }

    @Test(arguments: 0...999) func everyStatusIsJudged(status: Int) {
        let padded = String("\(1000 + status)".dropFirst())
        let seen = read("HTTP/1.1 \(padded) X\r\ncontent-length: 2\r\n\r\nok")
        switch status {
        case 100, 102...199: #expect(seen == Seen(interim: [status], problem: .notHTTP))
        // These statuses have no body, so its two bytes are surplus.
        case 204, 304: #expect(seen.status == status && seen.isComplete && seen.problem == .surplus)
        case 200...999: #expect(seen.status == status && seen.isComplete && seen.problem == nil)
        default: #expect(seen == Seen(problem: .status(status)))
        }
    }

    /// A truncated response is never complete.
    @Test func cutAnswerIsNotComplete() {
        for text in [
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ] {
            for count in 0..<text.utf8.count { #expect(!read(Array(text.utf8.prefix(count))).isComplete) }
        }
    }

    /// I1: bytes that arrive before the next request are not part of its response.
    @Test func surplusServesNoOtherRequest() throws {
        let one = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
        var reader = AnswerReader(maxHeadBytes: 1000)
        reader.requestSent(.GET)
        reader.receive(ByteBuffer(string: one + one))
        while let part = try reader.next(), part != .end(nil) {}
        // The client sends its next request as soon as the response has ended.
        reader.requestSent(.GET)
        #expect(throws: WireProblem.surplus) { try reader.next() }
        reader.requestSent(.GET)
        reader.receive(ByteBuffer(string: one))
        #expect(try reader.next() == nil)

        var idle = AnswerReader(maxHeadBytes: 1000)
        idle.receive(ByteBuffer(string: "\r\n"))
        #expect(try idle.next() == nil)
        idle.receive(ByteBuffer(string: one))
        #expect(throws: WireProblem.unexpectedData) { try idle.next() }
    }

    /// I5: the limit is in bytes, regardless of the content.
    @Test func headsAndTrailersAreBounded() {
        func head(_ fields: String) -> String { "HTTP/1.1 200 OK\r\n\(fields)content-length: 0\r\n\r\n" }
        let many = String(repeating: "a: b\r\n", count: 10_000)
        #expect(read(head(many), maxHeadBytes: 65_536).headers.count == 10_001)
        for text in [
            head(many + many), head("a: \(String(repeating: "b", count: 70_000))\r\n"),
            "HTTP/1.1 200 OK\r\n" + many + many,
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + many + many,
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + String(repeating: "a", count: 70_000),
        ] {
            for count in [1000, .max] { #expect(read(text, by: count).problem == .headTooLarge) }
        }
    }

    /// I5: processed bytes are released, however the input is split.
    @Test func bytesThatWereReadAreNotKept() throws {
        var reader = AnswerReader(maxHeadBytes: 1000)
        reader.requestSent(.GET)
        reader.receive(ByteBuffer(string: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3"))
        while try reader.next() != nil {}
        let most = reader.capacityInUse
        var last: HTTPClientResponsePart?
        for _ in 0..<10_000 {
            reader.receive(ByteBuffer(string: "\r\nabc\r\n3"))
            while let part = try reader.next() { last = part }
        }
        #expect(last == .body(ByteBuffer(string: "abc")))
        #expect(reader.capacityInUse <= 4 * most)
    }

    /// Over TLS, such a body is refused without a close notification, because an attacker could have truncated it.
    @Test(arguments: [
        ("", true), ("transfer-encoding: identity\r\n", true), ("transfer-encoding:\r\n", true),
        ("content-length: 9\r\n", false), ("transfer-encoding: chunked\r\n", false),
    ])
    func bodyWithoutFramingEndsWithTheConnection(fields: String, endsWithConnection: Bool) throws {
        var reader = AnswerReader(maxHeadBytes: 1000)
        reader.requestSent(.GET)
        reader.receive(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\(fields)\r\n2"))
        while try reader.next() != nil {}
        #expect(reader.endsWithConnection == endsWithConnection)
    }

    @Test func fieldsAreParsedAsInBrowsers() {
        let text = """
            HTTP/1.1 200 OK\r
            Name :  value \r
            folded: a\r
              b\r
            \tc\r
            no colon\r
            : nameless\r
            bad name: x\r
            empty:\r
            control: a\u{0}b\u{1B}c\r
            content-length: 0\r
            \r

            """
        #expect(
            read(text).headers == [
                "Name: value", "folded: a b c", "empty: ", "control: a b c", "content-length: 0",
            ])
    }

    @Test func bytesThatAreNotUTF8AreKept() {
        func field(_ name: String, _ value: [UInt8]) -> [String] {
            read(Array("HTTP/1.1 204 X\r\n\(name): ".utf8) + value + Array("\r\n\r\n".utf8)).headers
        }
        #expect(field("Location", Array("/caf".utf8) + [0xE9]) == ["Location: /caf%E9"])
        #expect(field("location", [0xC3, 0xA9, 0xE9]) == ["location: %C3%A9%E9"])
        #expect(field("location", [0xC3, 0xA9]) == ["location: é"])
        #expect(field("title", [0xE9]) == ["title: é"])
    }
}
