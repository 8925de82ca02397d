import WebSyntax

/// Detects the encoding of a page and converts the page to UTF-8.
///
/// The first of these that names a known encoding decides: the byte order mark, the `Content-Type` header, a `meta`
/// anywhere in the head (not only in the first 1,024 bytes), the XML declaration. If none does, the page is UTF-8 if it
/// is valid UTF-8, otherwise windows-1252, the standard's fallback.
enum Charset {
    /// - Returns: Valid UTF-8 without a byte order mark and without U+0000, and the encoding's name in the Encoding
    ///   standard.
    static func decode(_ bytes: [UInt8], contentType: String?) -> (utf8: [UInt8], name: String) {
        let (name, skip) = find(in: bytes, contentType: contentType)
        var utf8 = decode(bytes[skip...], from: name)
        // The standard replaces U+0000 in most places (13.2.5), and no text needs it.
        if utf8.contains(0) {
            utf8 = Array(
                utf8.split(separator: 0, omittingEmptySubsequences: false).joined(separator: [0xEF, 0xBF, 0xBD]))
        }
        return (utf8, name)
    }

    /// Returns the name of the encoding, and the length of the byte order mark to skip.
    static func find(in bytes: [UInt8], contentType: String?) -> (name: String, skip: Int) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return ("utf-8", 3) }
        if bytes.starts(with: [0xFE, 0xFF]) { return ("utf-16be", 2) }
        if bytes.starts(with: [0xFF, 0xFE]) { return ("utf-16le", 2) }
        if let name = contentType.flatMap(parameter).flatMap(EncodingLabel.name) { return (name, 0) }
        if let name = bytes.withUnsafeBufferPointer(metaCharset) { return (name, 0) }
        if let name = bytes.withUnsafeBufferPointer(declaredEncoding) { return (name, 0) }
        if isUTF8(bytes) { return ("utf-8", 0) }
        return ("windows-1252", 0)
    }

    /// Returns the `charset` parameter of a media type.
    static func parameter(of contentType: String) -> String? {
        for part in contentType.split(separator: ";").dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            guard pair.count == 2, pair[0].lowercased() == "charset" else { continue }
            let value = pair[1].trimmingPrefix("\"").trimmingPrefix("'")
            return String(value.prefix { $0 != "\"" && $0 != "'" })
        }
        return nil
    }

    /// Whether the bytes are valid UTF-8, except for a last character that truncation may have cut.
    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        let tail = bytes.suffix(3).lastIndex { $0 & 0xC0 == 0xC0 } ?? bytes.endIndex
        return isWholeUTF8(bytes[...]) || isWholeUTF8(bytes[..<tail])
    }

    private static func isWholeUTF8(_ bytes: ArraySlice<UInt8>) -> Bool {
        do {
            _ = try UTF8Span(validating: bytes.span)
            return true
        } catch {
            return false
        }
    }

    /// Returns the encoding in a declaration like `<?xml version="1.0" encoding="windows-1251"?>` (HTML standard,
    /// 13.2.3.2, "get an XML encoding").
    private static func declaredEncoding(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard bytes.starts(with: "<?xml".utf8), let end = bytes.prefix(1024).firstIndex(of: 0x3E) else { return nil }
        let declaration = String(decoding: bytes[..<end], as: UTF8.self)
        guard let text = declaration.cut(at: "encoding")?.after.trimmingSpaces, text.hasPrefix("=") else { return nil }
        let value = text.dropFirst().trimmingSpaces
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        let name = EncodingLabel.name(String(value.dropFirst().prefix { $0 != quote }))
        return name?.hasPrefix("utf-16") == true ? "utf-8" : name
    }

    private static func metaCharset(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var reader = TagReader(bytes)
        while let token = reader.next() {
            guard case .start(let name) = token else { continue }
            if name == "body" { return nil }
            guard name == "meta" else { continue }
            let isContentType = reader["http-equiv"]?.lowercased() == "content-type"
            let label = reader["charset"] ?? (isContentType ? reader["content"].flatMap(parameter) : nil)
            guard let name = label.flatMap(EncodingLabel.name) else { continue }
            // The HTML standard uses UTF-8 here: a page whose `meta` could be read as ASCII is not UTF-16.
            if name.hasPrefix("utf-16") { return "utf-8" }
            return name == "x-user-defined" ? "windows-1252" : name
        }
        return nil
    }

    private static func decode(_ bytes: ArraySlice<UInt8>, from name: String) -> [UInt8] {
        switch name {
        case "utf-8":
            if isWholeUTF8(bytes) { return Array(bytes) }
            return Array(String(decoding: bytes, as: UTF8.self).utf8)
        case "utf-16le", "utf-16be":
            return Array(utf16(bytes, isBig: name == "utf-16be").utf8)
        case "replacement":
            return [0xEF, 0xBF, 0xBD]
        default:
            return LegacyDecoder.decode(bytes, from: name) ?? Array(String(decoding: bytes, as: UTF8.self).utf8)
        }
    }

    static func utf16(_ bytes: ArraySlice<UInt8>, isBig: Bool) -> String {
        let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { at in
            let (first, second) = (UInt16(bytes[at]), UInt16(bytes[at + 1]))
            return isBig ? first << 8 | second : second << 8 | first
        }
        return String(decoding: units, as: UTF16.self)
    }
}
