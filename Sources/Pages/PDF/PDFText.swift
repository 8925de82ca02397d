/// Decodes text strings (ISO 32000-2, 7.9.2.2).
enum PDFText {
    /// Decodes UTF-16 or UTF-8 with a byte order mark. Without one, text is UTF-8 if it is valid and not only ASCII,
    /// otherwise PDFDocEncoding.
    ///
    /// - Returns: Nil if a byte has no character.
    static func decode(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFE, 0xFF]) { return withoutLanguages(Charset.utf16(bytes.dropFirst(2), isBig: true)) }
        if bytes.starts(with: [0xFF, 0xFE]) {
            return withoutLanguages(Charset.utf16(bytes.dropFirst(2), isBig: false))
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return withoutLanguages(String(decoding: bytes.dropFirst(3), as: UTF8.self))
        }
        // Some writers end a string with NUL bytes.
        let bytes = bytes.prefix((bytes.lastIndex { $0 != 0 } ?? -1) + 1)
        if bytes.contains(where: { $0 >= 0x80 }), let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = String.UnicodeScalarView()
        for byte in bytes {
            guard let scalar = scalar(byte) else { return nil }
            text.append(scalar)
        }
        return String(text)
    }

    /// Returns the text without language codes, which are enclosed in escape characters.
    private static func withoutLanguages(_ text: String) -> String {
        guard text.utf8.contains(0x1B) else { return text }
        let parts = text.unicodeScalars.split(separator: "\u{1B}", omittingEmptySubsequences: false)
        let kept = parts.enumerated().filter { index, part in
            // A code consists of a language of two letters and optionally a country of two letters.
            index % 2 == 0 || index == parts.count - 1 || ![2, 4, 5].contains(part.count)
        }
        return String(String.UnicodeScalarView(kept.map(\.element).joined()))
    }

    private static let accents = Array("˘ˇˆ˙˝˛˚˜".unicodeScalars)
    private static let signs = Array("•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž".unicodeScalars)

    /// Returns the character of a byte in PDFDocEncoding (Annex D.3); nil if there is none.
    private static func scalar(_ byte: UInt8) -> Unicode.Scalar? {
        switch byte {
        case 0x18...0x1F: accents[Int(byte) - 0x18]
        case 0x80...0x9E: signs[Int(byte) - 0x80]
        case 0xA0: "€"
        case 0x09...0x0D: Unicode.Scalar(byte)
        case 0x00..<0x18, 0x7F, 0x9F, 0xAD: nil
        default: Unicode.Scalar(byte)
        }
    }
}
