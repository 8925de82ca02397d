/// One JSON value as UTF-8 bytes that are known to be well-formed.
///
/// Payloads and results are passed on as bytes, and only operations decode them. Text from outside is checked once, by
/// ``init(checking:limit:)``; the output of our own encoder is trusted.
public struct JSONText: Hashable, Sendable {
    /// The text in UTF-8, exactly as it was received or encoded.
    public let bytes: [UInt8]

    /// Wraps bytes that are JSON by construction, from our encoder or from the database, without checking them.
    public init(trusted bytes: [UInt8]) { self.bytes = bytes }

    /// Checks that `bytes` are one JSON value by RFC 8259. In addition, an object must not contain a name twice, a
    /// string must not contain NUL, and values may be nested at most 128 levels deep.
    ///
    /// - Parameter limit: The maximum number of bytes. Default: ``maxBytes``.
    /// - Throws: ``JSONProblem``.
    public init(checking bytes: [UInt8], limit: Int = JSONText.maxBytes) throws(JSONProblem) {
        try self.init(checking: bytes, limit: limit, maxDepth: Self.maxDepth)
    }

    /// Checks a message that contains JSON texts, which may be nested ``maxDepth`` levels deep themselves.
    package init(checkingEnvelope bytes: [UInt8], limit: Int) throws(JSONProblem) {
        try self.init(checking: bytes, limit: limit, maxDepth: Self.maxDepth + Self.maxEnvelopeDepth)
    }

    private init(checking bytes: [UInt8], limit: Int, maxDepth: Int) throws(JSONProblem) {
        guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit) }
        var scanner = JSONScanner(bytes, maxDepth: maxDepth)
        try scanner.scanDocument()
        self.bytes = bytes
    }

    static let maxDepth = 128
    /// The number of levels that a message may add around a text.
    static let maxEnvelopeDepth = 4

    /// The maximum size of an input and of a result: 1 MiB.
    public static let maxBytes = 1 << 20

    /// The text as a Swift string.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    /// The JSON text `{}`.
    public static let emptyObject = JSONText(trusted: Array("{}".utf8))
}

/// The reason why some bytes are not accepted as JSON.
public enum JSONProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// There are more bytes than the limit allows.
    case tooLarge(bytes: Int, limit: Int)
    /// The bytes are not JSON. `offset` is the position of the error in bytes, from 0.
    case malformed(offset: Int, expected: String)
    /// An object contains this name twice.
    case duplicateName(String, offset: Int)
    /// A string contains the character U+0000.
    case nulInString(offset: Int)
    /// Values are nested deeper than the limit.
    case tooDeep(limit: Int)

    public var description: String {
        switch self {
        case .tooLarge(let bytes, let limit): "the JSON has \(bytes) bytes; the limit is \(limit)"
        case .malformed(let offset, let expected): "invalid JSON at byte \(offset): expected \(expected)"
        case .duplicateName(let name, let offset):
            "the name \"\(name)\" occurs twice in one object (byte \(offset))"
        case .nulInString(let offset): "a string contains the character U+0000 (byte \(offset)); remove it"
        case .tooDeep(let limit): "the JSON is nested deeper than \(limit) levels"
        }
    }
}
