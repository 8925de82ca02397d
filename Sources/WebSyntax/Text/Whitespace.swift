extension StringProtocol {
    /// The text without ASCII white space at either end.
    @inlinable package var trimmingSpaces: String {
        let bytes = Array(utf8)
        guard let first = bytes.firstIndex(where: { !$0.isSpace }), let last = bytes.lastIndex(where: { !$0.isSpace })
        else {
            return ""
        }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether HTML counts the byte as ASCII white space.
    @inlinable package var isSpace: Bool {
        self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0C || self == 0x0D
    }
}
