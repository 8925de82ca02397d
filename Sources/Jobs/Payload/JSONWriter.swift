/// Writes JSON directly into bytes, for values that are written so often that the general encoder would take most of
/// the time.
public struct JSONWriter {
    private var bytes: [UInt8] = []

    package init() {}

    /// Returns `beginning` and the JSON text of the values that `write` writes after it.
    public static func text(after beginning: [UInt8] = [], _ write: (inout JSONWriter) -> Void) -> JSONText {
        var writer = JSONWriter()
        writer.bytes.reserveCapacity(1024)
        writer.bytes += beginning
        write(&writer)
        return JSONText(trusted: writer.bytes)
    }

    /// Writes an object, whose fields are written by the closure.
    public mutating func object(_ fields: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        fields(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Writes an array. `write` must write exactly one value for each element.
    public mutating func array<Element>(
        _ elements: some Sequence<Element>, _ write: (Element, inout JSONWriter) -> Void
    ) {
        separate()
        bytes.append(UInt8(ascii: "["))
        for element in elements { write(element, &self) }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Writes a string.
    public mutating func string(_ value: String) {
        separate()
        Self.append(value, to: &bytes)
    }

    /// Writes a value that is JSON already, without space around it.
    public mutating func value(_ json: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    // MARK: Fields; nil writes nothing

    /// Writes a field, whose value is written by the closure.
    public mutating func field(_ name: String, _ write: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        write(&self)
    }

    /// Writes the fields of another object, whose JSON has no space around it.
    public mutating func fields(of object: JSONText) { value(object.bytes.dropFirst().dropLast()) }

    /// Writes a string field; nothing if the value is nil.
    public mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        begin(name)
        Self.append(value, to: &bytes)
    }

    /// Writes a number field; nothing if the value is nil.
    public mutating func field(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        begin(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    /// Writes a boolean field; nothing if the value is nil.
    public mutating func field(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        begin(name)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Writes a field that is JSON already, without space around it; nothing if the value is nil.
    public mutating func field(_ name: StaticString, _ value: JSONText?) {
        guard let value else { return }
        begin(name)
        bytes.append(contentsOf: value.bytes)
    }

    /// Writes an array field. `write` must write exactly one value for each element.
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
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"), UInt8(ascii: ","): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }

    // MARK: Strings

    /// Appends a text as a JSON string.
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

/// A value that writes its own JSON, which must equal the output of its `encode(to:)`.
public protocol JSONWritten: Encodable {
    /// The JSON of the value.
    var json: JSONText { get }
}
