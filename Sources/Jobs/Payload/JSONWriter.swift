/// Writes JSON straight into bytes: for values that are written so often that the general encoder would take most of the time.
public struct JSONWriter {
    private var bytes: [UInt8] = []

    /// The text of one value.
    public static func text(_ write: (inout JSONWriter) -> Void) -> JSONText {
        var writer = JSONWriter()
        writer.bytes.reserveCapacity(1024)
        write(&writer)
        return JSONText(trusted: writer.bytes)
    }

    public mutating func object(_ fields: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        fields(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    public mutating func array<Element>(
        _ elements: some Sequence<Element>, _ write: (Element, inout JSONWriter) -> Void
    ) {
        bytes.append(UInt8(ascii: "["))
        for element in elements { write(element, &self) }
        bytes.append(UInt8(ascii: "]"))
    }

    // MARK: Fields; nil writes nothing

    public mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        begin(name)
        Self.append(value, to: &bytes)
    }

    public mutating func field(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        begin(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    public mutating func field(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        begin(name)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    public mutating func field<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>, _ write: (Element, inout JSONWriter) -> Void
    ) {
        begin(name)
        array(elements, write)
    }

    private mutating func begin(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }

    // MARK: Strings

    /// Appends a JSON string.
    static func append(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { text in
            if text.contains(where: needsEscape) {
                for byte in text { appendEscaped(byte, to: &bytes) }
            } else {
                bytes.append(contentsOf: text)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}

/// A value that writes its own JSON, which must be what its `encode(to:)` gives.
public protocol JSONWritten: Encodable {
    var json: JSONText { get }
}
