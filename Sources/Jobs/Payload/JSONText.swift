/// One JSON value as UTF-8 bytes, known to be well formed.
///
/// Payloads and results travel as bytes; only the operation decodes them. What comes from outside is checked once, by
/// ``init(checking:limit:)``; what our own encoder made is trusted.
public struct JSONText: Hashable, Sendable {
    public let bytes: [UInt8]

    /// Takes bytes that are JSON by construction: our encoder's, or the database's.
    public init(trusted bytes: [UInt8]) { self.bytes = bytes }

    /// Checks that `bytes` are one JSON value by RFC 8259, and stricter: no duplicate names in an object, no NUL in a
    /// string, at most 128 levels deep.
    public init(checking bytes: [UInt8], limit: Int = JSONText.maxBytes) throws(JSONProblem) {
        guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit) }
        var scanner = JSONScanner(bytes)
        try scanner.scanDocument()
        self.bytes = bytes
    }

    /// The largest input and the largest result: 1 MiB.
    public static let maxBytes = 1 << 20

    public var string: String { String(decoding: bytes, as: UTF8.self) }

    public static let emptyObject = JSONText(trusted: Array("{}".utf8))
}

/// Why some bytes are not acceptable as JSON.
public enum JSONProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case tooLarge(bytes: Int, limit: Int)
    /// `offset` counts bytes from 0.
    case malformed(offset: Int, expected: String)
    case duplicateName(String, offset: Int)
    case nulInString(offset: Int)
    case tooDeep(limit: Int)

    public var description: String {
        switch self {
        case .tooLarge(let bytes, let limit): "the JSON has \(bytes) bytes; at most \(limit) are taken"
        case .malformed(let offset, let expected): "not JSON at byte \(offset): expected \(expected)"
        case .duplicateName(let name, let offset):
            "the name \"\(name)\" occurs twice in one object (byte \(offset))"
        case .nulInString(let offset): "a string holds the character U+0000 (byte \(offset)); remove it"
        case .tooDeep(let limit): "the JSON is nested deeper than \(limit) levels"
        }
    }
}
