/// One action of a hostile server on a connection.
enum HostileStep: Sendable {
    case send([UInt8])
    case pause(milliseconds: Int)
    case close
    /// Closes the connection with a TCP reset.
    case reset
}

/// Generates answers that are nearly valid, invalid, or not HTTP at all.
struct HostileAnswer {
    private var random: SeededRandom
    private let path: String

    /// - Parameter path: The path of the request; redirects stay below it.
    init(seed: UInt64, path: String) {
        random = SeededRandom(seed: seed)
        self.path = path
    }

    mutating func steps() -> [HostileStep] {
        var bytes = content()
        if random.chance(4) { mutate(&bytes) }
        if random.chance(6) { bytes = Array(bytes.prefix(random.number(0...bytes.count))) }
        var steps: [HostileStep] = []
        var rest = bytes[...]
        let pieces = random.chance(3) ? random.number(2...8) : 1
        for piece in 1...pieces {
            let count = piece == pieces ? rest.count : random.number(0...rest.count)
            steps.append(.send(Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
            if random.chance(3) { steps.append(.pause(milliseconds: random.number(0...3))) }
        }
        switch random.number(0...9) {
        case 0...2: steps.append(.close)
        case 3: steps.append(.reset)
        default: break
        }
        return steps
    }

    private mutating func content() -> [UInt8] {
        switch random.number(0...24) {
        case 0: return random.bytes(random.number(0...200))
        case 1: return Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
        case 2: return [21, 3, 1, 0, 2, 2, 40]
        case 3: return Array("<html>Of the days of HTTP/0.9</html>".utf8)
        case 4: return []
        case 5: return endless()
        default:
            var bytes: [UInt8] = []
            for _ in 0..<(random.chance(4) ? random.number(1...4) : 0) {
                bytes += head(random.pick([100, 100, 102, 103, 104, 199]))
            }
            bytes += answer()
            if random.chance(8) { bytes += answer() }
            return bytes
        }
    }

    /// A long repetition of one element.
    private mutating func endless() -> [UInt8] {
        let count = random.number(1...3000)
        switch random.number(0...4) {
        case 0: return Array(String(repeating: "HTTP/1.1 100 Go on\r\n\r\n", count: count).utf8)
        case 1: return Array(("HTTP/1.1 200 OK\r\n" + String(repeating: "a: b\r\n", count: count)).utf8)
        case 2: return Array(("HTTP/1.1 200 OK\r\na: " + String(repeating: "b", count: count * 30) + "\r\n\r\n").utf8)
        case 3:
            return Array(
                ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + String(repeating: "1\r\nx\r\n", count: count))
                    .utf8)
        default: return Array(String(repeating: "\r\n", count: count).utf8)
        }
    }

    private mutating func status() -> Int {
        switch random.number(0...9) {
        case 0: random.number(0...999)
        case 1: random.number(0...199)
        case 2...4: random.pick([301, 302, 303, 307, 308])
        case 5: random.pick([204, 304, 409, 412, 423, 460, 500, 503, 429, 401, 407])
        default: random.pick([200, 200, 201, 206])
        }
    }

    private mutating func head(_ status: Int, _ fields: [String] = []) -> [UInt8] {
        let end = random.chance(12) ? "\n" : "\r\n"
        let text = "\(status)"
        let padded = String(repeating: "0", count: max(0, 3 - text.utf8.count)) + text
        let version = random.pick(["1.1", "1.1", "1.1", "1.1", "1.0", "1.9", "2.0", "0.9", ""])
        var lines = ["HTTP/\(version) \(padded) X"] + fields
        if status == 104 {
            lines += ["location: \(path)/up", "upload-limit: max-size=\(random.number(0...10_000_000))"]
        }
        return Array((lines.joined(separator: end) + end + end).utf8)
    }

    private mutating func answer() -> [UInt8] {
        let status = status()
        var fields = self.fields()
        let body = body()
        switch random.number(0...9) {
        case 0...3: return head(status, fields + ["content-length: \(body.count)"]) + body
        case 4:
            let length = random.pick([
                "-1", "+5", "99999999999999999999", "0x10", "", "5, 5", "5, 6", "9223372036854775807",
                "\(body.count + 1)",
                "\(max(0, body.count - 1))",
            ])
            return head(status, fields + ["content-length: \(length)"]) + body
        case 5: return head(status, fields) + body
        default:
            let coding = random.pick([
                "chunked", "chunked", "chunked", "CHUNKED", "gzip, chunked", "chunked, chunked", "identity", "x",
            ])
            fields.append("transfer-encoding: \(coding)")
            if random.chance(5) { fields.append("content-length: \(random.number(0...100))") }
            return head(status, fields) + chunked(body)
        }
    }

    private mutating func chunked(_ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = body[...]
        while !rest.isEmpty {
            let piece = rest.prefix(random.number(1...max(1, rest.count)))
            rest = rest.dropFirst(piece.count)
            let size =
                random.chance(20)
                ? random.pick(["ffffffffffffffff", "-1", "", "g", "7fffffffffffffff"]) : String(piece.count, radix: 16)
            bytes += Array("\(size)\(random.chance(9) ? ";a=b" : "")\r\n".utf8) + piece + Array("\r\n".utf8)
        }
        if random.chance(9) { return bytes }
        return bytes + Array("0\r\n\(random.chance(5) ? "a: b\r\n" : "")\r\n".utf8)
    }

    private mutating func fields() -> [String] {
        let all = [
            "location: \(path)/n", "location: ", "location: //[::1", "location: http://127.0.0.1:1/",
            "location: \(path)",
            "location: https://localhost\(path)", "connection: close", "connection: keep-alive", "connection: upgrade",
            "upgrade: h2c", "content-type: text/html; charset=utf-8", "content-type: application/pdf",
            "content-type: image/png", "content-encoding: gzip", "content-encoding: br, zstd", "content-encoding: x",
            "set-cookie: a=\(random.number(0...9)); path=/", "retry-after: 0", "retry-after: 99999999999",
            "etag: \"x\"",
            "refresh: 0; url=\(path)/r", "tus-resumable: 1.0.0", "tus-version: 1.0.0",
            "tus-extension: creation,checksum",
            "upload-offset: \(random.number(0...400_000))", "upload-complete: ?\(random.number(0...1))",
            "upload-limit: max-size=\(random.number(0...100))", "strict-transport-security: max-age=0", ": nameless",
            "no colon", " folded", "x: \u{e9}\u{1F600}", "keep-alive: timeout=0", "trailer: a",
        ]
        return (0..<random.number(0...6)).map { _ in random.pick(all) }
    }

    private mutating func body() -> [UInt8] {
        switch random.number(0...5) {
        case 0: []
        case 1: random.bytes(random.number(1...300))
        case 2: Array("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>".utf8)
        case 3: Array(repeating: UInt8(ascii: "x"), count: random.number(1...200_000))
        default:
            Array(
                "<html><head><title>A page</title><meta http-equiv=refresh content='0;url=\(path)/m'></head></html>"
                    .utf8)
        }
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        for _ in 0..<random.number(1...6) where !bytes.isEmpty {
            let place = random.number(0...bytes.count - 1)
            switch random.number(0...3) {
            case 0: bytes[place] = UInt8(random.number(0...255))
            case 1: bytes.insert(random.pick([0, 10, 13, 32, 58, 255]), at: place)
            case 2: bytes.remove(at: place)
            default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + random.number(1...20))], at: place)
            }
        }
    }
}
