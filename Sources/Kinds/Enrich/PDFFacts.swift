import CCompression

/// What a PDF says about itself where it can be read without a PDF library: its information dictionary, its XMP metadata and the
/// counts of its page tree, plain or in compressed object streams (ISO 32000-1, 7.5.7 and 14.3).
enum PDFFacts {
    /// Of compressed objects, decoded; more are left out.
    private static let maxUnpacked = 4 << 20

    static func read(_ bytes: [UInt8]) -> MediaFacts? {
        guard occurrences(of: "%PDF-", in: Array(bytes.prefix(1024))).first != nil else { return nil }
        let all = bytes + unpackedObjects(bytes)
        var facts = MediaFacts(contentType: "application/pdf")
        facts.title = string(after: "/Title", in: all) ?? metadata("dc:title", in: all).first
        let authors = [string(after: "/Author", in: all)].compactMap { $0 }
        facts.authors = authors.isEmpty ? metadata("dc:creator", in: all) : authors
        facts.pages = pageCount(all)
        return facts
    }

    /// The objects in streams of type `ObjStm` with the Flate filter.
    private static func unpackedObjects(_ bytes: [UInt8]) -> [UInt8] {
        var unpacked: [UInt8] = []
        for at in occurrences(of: "/ObjStm", in: bytes).prefix(200) {
            let near = bytes[at..<min(bytes.count, at + 400)]
            guard let mark = near.firstRange(of: Array("stream".utf8)),
                near.firstRange(of: Array("/FlateDecode".utf8)) != nil
                    || bytes[max(0, at - 400)..<at].firstRange(of: Array("/FlateDecode".utf8)) != nil
            else { continue }
            var start = mark.upperBound
            while start < bytes.count, bytes[start] == 0x0D || bytes[start] == 0x0A { start += 1 }
            let decoder = InflateDecoder(gzip: false)
            // What comes before damage is used.
            bytes[start...].withUnsafeBytes { _ = try? decoder.decode($0, into: &unpacked, limit: maxUnpacked) }
            if unpacked.count >= maxUnpacked { break }
            unpacked.append(0x0A)
        }
        return unpacked
    }

    /// The texts of an XMP property: of its list, or its own.
    private static func metadata(_ name: String, in bytes: [UInt8]) -> [String] {
        guard let start = occurrences(of: "<" + name, in: bytes).first else { return [] }
        let window = Array(bytes[start..<min(bytes.count, start + 8192)])
        return window.withUnsafeBufferPointer { window in
            var reader = TagReader(window)
            var texts: [String] = []
            while let token = reader.next(), texts.count < 20 {
                switch token {
                case .text(let range):
                    let text = Entities.decode(reader.text(range)).tidied
                    // The first piece is the rest of the start tag.
                    if range.lowerBound > 0, !text.isEmpty { texts.append(text) }
                case .end(let range): if reader.isExactly(range, name) { return texts }
                case .start, .other: break
                }
            }
            return texts
        }
    }

    /// The largest count of a page tree.
    private static func pageCount(_ bytes: [UInt8]) -> Int? {
        var largest: Int?
        for at in occurrences(of: "/Count", in: bytes) {
            var next = skipSpaces(bytes, at)
            var value = 0
            var digits = 0
            while next < bytes.count, (0x30...0x39).contains(bytes[next]), digits < 7 {
                value = value * 10 + Int(bytes[next] - 0x30)
                digits += 1
                next += 1
            }
            // Outlines have counts too; they stand in dictionaries without this type.
            let around = bytes[max(0, at - 400)..<min(bytes.count, at + 400)]
            guard digits > 0, value > 0, around.firstRange(of: Array("/Pages".utf8)) != nil else { continue }
            largest = max(largest ?? 0, value)
        }
        return largest
    }

    private static func string(after key: String, in bytes: [UInt8]) -> String? {
        for at in occurrences(of: key, in: bytes) {
            let start = skipSpaces(bytes, at)
            guard start < bytes.count else { continue }
            let raw: [UInt8]? =
                switch bytes[start] {
                case UInt8(ascii: "("): literal(bytes, start + 1)
                case UInt8(ascii: "<") where start + 1 < bytes.count && bytes[start + 1] != UInt8(ascii: "<"):
                    hexadecimal(bytes, start + 1)
                default: nil
                }
            if let text = raw.map(decode)?.tidied, !text.isEmpty { return text }
        }
        return nil
    }

    private static func occurrences(of key: String, in bytes: [UInt8]) -> [Int] {
        let key = Array(key.utf8)
        var found: [Int] = []
        var at = 0
        while at + key.count < bytes.count, found.count < 1000 {
            guard let slash = bytes[at...].firstIndex(of: key[0]), slash + key.count < bytes.count else { break }
            if bytes[slash..<slash + key.count].elementsEqual(key) { found.append(slash + key.count) }
            at = slash + 1
        }
        return found
    }

    private static func skipSpaces(_ bytes: [UInt8], _ start: Int) -> Int {
        var at = start
        while at < bytes.count, bytes[at].isSpace || bytes[at] == 0 { at += 1 }
        return at
    }

    private static func literal(_ bytes: [UInt8], _ start: Int) -> [UInt8]? {
        var text: [UInt8] = []
        var depth = 1
        var at = start
        while at < bytes.count, text.count < 2048 {
            let byte = bytes[at]
            at += 1
            switch byte {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"):
                depth -= 1
                if depth == 0 { return text }
            case UInt8(ascii: "\\"):
                guard at < bytes.count else { return nil }
                let escaped = bytes[at]
                at += 1
                if (0x30...0x37).contains(escaped) {
                    var value = Int(escaped - 0x30)
                    for _ in 0..<2 where at < bytes.count && (0x30...0x37).contains(bytes[at]) {
                        value = value * 8 + Int(bytes[at] - 0x30)
                        at += 1
                    }
                    text.append(UInt8(truncatingIfNeeded: value))
                } else if escaped == UInt8(ascii: "n") || escaped == UInt8(ascii: "r") || escaped == UInt8(ascii: "t") {
                    text.append(0x20)
                } else if escaped != 0x0A, escaped != 0x0D {
                    text.append(escaped)
                }
                continue
            default: break
            }
            text.append(byte)
        }
        return nil
    }

    private static func hexadecimal(_ bytes: [UInt8], _ start: Int) -> [UInt8]? {
        var text: [UInt8] = []
        var high: UInt8?
        for byte in bytes[start...].prefix(8192) {
            if byte == UInt8(ascii: ">") { return text }
            guard let digit = hexDigit(byte) else { continue }
            if let first = high {
                text.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return nil
    }

    /// UTF-16 or UTF-8 with its mark, or else one byte a character.
    private static func decode(_ raw: [UInt8]) -> String {
        if raw.starts(with: [0xFE, 0xFF]) || raw.starts(with: [0xEF, 0xBB, 0xBF]) || raw.starts(with: [0xFF, 0xFE]) {
            return String(decoding: Charset.decode(raw, contentType: nil).utf8, as: UTF8.self)
        }
        return String(decoding: SingleByteTable.of("windows-1252")?.decode(raw[...]) ?? raw, as: UTF8.self)
    }
}
