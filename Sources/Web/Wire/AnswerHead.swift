import NIOHTTP1
import WebSyntax

/// The status line and the header fields of a response.
struct AnswerHead {
    /// How the body ends.
    enum Framing: Equatable {
        case none
        case length(Int64)
        case chunked
        case untilClose
    }

    let minorVersion: Int
    let status: Int
    private(set) var headers: HTTPHeaders

    var part: HTTPResponseHead {
        HTTPResponseHead(
            version: HTTPVersion(major: 1, minor: minorVersion), status: HTTPResponseStatus(statusCode: status),
            headers: headers)
    }

    /// Parses a head.
    ///
    /// - Parameter bytes: The head's bytes up to its empty line.
    init(_ bytes: [UInt8]) throws(WireProblem) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)[...]
        (minorVersion, status) = try Self.statusLine(lines.popFirst() ?? [])
        var fields: [(name: String, value: ArraySlice<UInt8>, rest: [UInt8])] = []
        for line in lines {
            let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard let first = text.first else { continue }
            if Self.isSpace(first) {
                // This line continues the previous one.
                if !fields.isEmpty { fields[fields.count - 1].rest += [0x20] + Self.trimmed(text) }
            } else if let colon = text.firstIndex(of: UInt8(ascii: ":")), let name = Self.name(text[..<colon]) {
                fields.append((name, Self.trimmed(text[(colon + 1)...]), []))
            }
            // Ignores a line that is not a field, as browsers do.
        }
        headers = HTTPHeaders(
            fields.map { field in
                let value = field.rest.isEmpty ? field.value : (field.value + field.rest)[...]
                return (field.name, Self.text(value, of: field.name))
            })
    }

    /// Decides how the body ends (RFC 9112, 6.3), and adjusts the header fields to agree with that.
    mutating func takeFraming(answering method: HTTPMethod) throws(WireProblem) -> Framing {
        if method == .HEAD || status == 204 || status == 304 { return .none }
        let codings = headers[canonicalForm: "transfer-encoding"]
            .filter { !$0.isEmpty && $0.lowercased() != "identity" }
        if !codings.isEmpty {
            guard codings.count == 1, codings[0].lowercased() == "chunked" else { throw .transferCoding }
            // Chunks take precedence over a length. But a server that sends both, or that sends chunks in HTTP/1.0, may
            // frame the next response differently, so the connection is closed.
            if headers.contains(name: "content-length") || minorVersion == 0 {
                headers.remove(name: "content-length")
                headers.replaceOrAdd(name: "connection", value: "close")
            }
            return .chunked
        }
        guard headers.contains(name: "content-length") else {
            // Keeps the client from reusing the connection.
            headers.replaceOrAdd(name: "connection", value: "close")
            return .untilClose
        }
        let lengths = headers[canonicalForm: "content-length"]
        guard let first = lengths.first, first.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int64(first), lengths.allSatisfy({ $0 == first })
        else { throw .contentLength }
        if lengths.count > 1 { headers.replaceOrAdd(name: "content-length", value: String(first)) }
        return .length(length)
    }

    private static func statusLine(_ line: ArraySlice<UInt8>) throws(WireProblem) -> (minorVersion: Int, status: Int) {
        let words = line.split(maxSplits: 2, omittingEmptySubsequences: true) {
            isSpace($0) || $0 == UInt8(ascii: "\r")
        }
        guard words.count >= 2, words[0].count == 8, words[0].starts(with: "HTTP/1.".utf8),
            let minor = words[0].last.flatMap(digit), words[1].count == 3
        else { throw .notHTTP }
        var status = 0
        for byte in words[1] {
            guard let value = digit(byte) else { throw .notHTTP }
            status = status * 10 + value
        }
        return (minor, status)
    }

    private static func digit(_ byte: UInt8) -> Int? { (0x30...0x39).contains(byte) ? Int(byte - 0x30) : nil }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return bytes
    }

    private static func name(_ bytes: ArraySlice<UInt8>) -> String? {
        let name = trimmed(bytes)
        guard !name.isEmpty, name.allSatisfy(FieldName.isToken) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// Decodes a field's value: as UTF-8 if it is valid, otherwise as Latin-1. In a field that contains an address,
    /// bytes that are not UTF-8 are percent-encoded, as in curl and browsers, since the server means exactly these
    /// bytes. Control characters become spaces.
    private static func text(_ value: ArraySlice<UInt8>, of name: String) -> String {
        var value = value
        if value.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            value = value.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }[...]
        }
        if let text = String(validating: value, as: UTF8.self) { return text }
        var text = ""
        let isAddress = ["location", "content-location", "refresh", "link"].contains(name.lowercased())
        for byte in value {
            if isAddress, byte >= 0x80 {
                text += "%" + String(byte, radix: 16, uppercase: true)
            } else {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }
}
