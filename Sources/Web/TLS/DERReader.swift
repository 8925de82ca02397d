/// Reads DER elements from untrusted bytes. Returns nil instead of reading past the end.
struct DERReader {
    struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
        /// The element including its tag and length.
        let whole: ArraySlice<UInt8>
    }

    static let sequence: UInt8 = 0x30
    static let utcTime: UInt8 = 0x17
    static let generalizedTime: UInt8 = 0x18
    static let version: UInt8 = 0xA0

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> Element? {
        var bytes = rest
        guard let tag = bytes.popFirst(), tag & 0x1F != 0x1F, let first = bytes.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...4).contains(count), bytes.count >= count else { return nil }
            length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            bytes = bytes.dropFirst(count)
        }
        guard bytes.count >= length else { return nil }
        let content = bytes.prefix(length)
        defer { rest = bytes.dropFirst(length) }
        return Element(tag: tag, content: content, whole: rest[..<content.endIndex])
    }

    /// Returns a reader for the content of the next element, or nil if that element has another tag.
    mutating func enter(_ tag: UInt8 = sequence) -> DERReader? {
        guard let element = next(), element.tag == tag else { return nil }
        return DERReader(element.content)
    }
}
