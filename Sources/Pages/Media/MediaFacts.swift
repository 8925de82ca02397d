import WebSyntax

/// The metadata in the first bytes of a file that is not a page: its format, its size in pixels or pages, and for a PDF
/// its title and authors.
package struct MediaFacts: Codable, Sendable, Hashable {
    package var contentType: String
    package var width: Int?
    package var height: Int?
    var pages: Int?
    var title: String?
    var authors: [String]?

    /// Reads a file's metadata. Returns nil if the format is unknown.
    ///
    /// - Parameter gap: The part of the file that is missing from `bytes`, if they are the two ends of a long PDF.
    init?(_ bytes: [UInt8], gap: Range<Int>? = nil) {
        let reader = Bytes(bytes)
        guard
            let found = Self.png(reader) ?? Self.gif(reader) ?? Self.jpeg(reader) ?? Self.webp(reader) ?? Self.isoMedia(
                reader)
                ?? Self.ico(reader) ?? PDFFacts.read(bytes, gap: gap).map(Self.init(pdf:)) ?? Self.other(reader)
                ?? Self.svg(reader)
        else { return nil }
        self = found
    }

    /// Whether a file begins with the signature of a known format, which no page begins with.
    static func hasSignature(_ bytes: [UInt8]) -> Bool {
        let reader = Bytes(bytes)
        return [png, gif, jpeg, webp, isoMedia, ico, other].contains { $0(reader) != nil }
    }

    private init(pdf: PDFFacts) {
        self.init(contentType: "application/pdf")
        (pages, title, authors) = (pdf.pages, pdf.title, pdf.authors)
    }

    init(contentType: String, width: Int? = nil, height: Int? = nil) {
        self.contentType = contentType
        self.width = width
        self.height = height
    }

    /// Reads numbers from bytes; returns nil beyond their end.
    private struct Bytes {
        let bytes: [UInt8]
        init(_ bytes: [UInt8]) { self.bytes = bytes }

        subscript(at: Int) -> Int? { at >= 0 && at < bytes.count ? Int(bytes[at]) : nil }

        func big(_ at: Int, _ count: Int) -> Int? { piece(at, count)?.reduce(0) { $0 << 8 | Int($1) } }

        func little(_ at: Int, _ count: Int) -> Int? { piece(at, count)?.reversed().reduce(0) { $0 << 8 | Int($1) } }

        private func piece(_ at: Int, _ count: Int) -> ArraySlice<UInt8>? {
            at >= 0 && at + count <= bytes.count ? bytes[at..<at + count] : nil
        }

        func has(_ text: String, at: Int) -> Bool {
            at >= 0 && at <= bytes.count && bytes[at...].starts(with: text.utf8)
        }
    }

    private static func png(_ file: Bytes) -> MediaFacts? {
        guard file.bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return nil }
        return MediaFacts(contentType: "image/png", width: file.big(16, 4), height: file.big(20, 4))
    }

    private static func gif(_ file: Bytes) -> MediaFacts? {
        guard file.has("GIF87a", at: 0) || file.has("GIF89a", at: 0) else { return nil }
        return MediaFacts(contentType: "image/gif", width: file.little(6, 2), height: file.little(8, 2))
    }

    private static func jpeg(_ file: Bytes) -> MediaFacts? {
        guard file.bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
        var at = 2
        while let mark = file[at], let kind = file[at + 1] {
            guard mark == 0xFF else { break }
            if kind == 0xFF {
                at += 1
                continue
            }
            // A start-of-frame marker. C4, C8 and CC are in the same range but have other meanings.
            if (0xC0...0xCF).contains(kind), ![0xC4, 0xC8, 0xCC].contains(kind) {
                return MediaFacts(contentType: "image/jpeg", width: file.big(at + 7, 2), height: file.big(at + 5, 2))
            }
            guard kind != 0xDA, let length = file.big(at + 2, 2), length >= 2 else { break }
            at += 2 + length
        }
        return MediaFacts(contentType: "image/jpeg")
    }

    private static func webp(_ file: Bytes) -> MediaFacts? {
        guard file.has("RIFF", at: 0), file.has("WEBP", at: 8) else { return nil }
        if file.has("VP8X", at: 12), let width = file.little(24, 3), let height = file.little(27, 3) {
            return MediaFacts(contentType: "image/webp", width: width + 1, height: height + 1)
        }
        if file.has("VP8L", at: 12), let packed = file.little(21, 4) {
            return MediaFacts(contentType: "image/webp", width: packed & 0x3FFF + 1, height: packed >> 14 & 0x3FFF + 1)
        }
        if file.has("VP8 ", at: 12), let width = file.little(26, 2), let height = file.little(28, 2) {
            return MediaFacts(contentType: "image/webp", width: width & 0x3FFF, height: height & 0x3FFF)
        }
        return MediaFacts(contentType: "image/webp")
    }

    /// Reads AVIF, HEIF, MP4 and QuickTime. The `ispe` box of a picture contains its size.
    private static func isoMedia(_ file: Bytes) -> MediaFacts? {
        guard let type = ISOMedia.type(of: file.bytes) else { return nil }
        var facts = MediaFacts(contentType: type)
        guard type.hasPrefix("image/") else { return facts }
        let name = Array("ispe".utf8)
        var largest = 0
        for at in file.bytes.indices.dropLast(15)
        where file.bytes[at] == name[0] && file.bytes[at..<at + 4].elementsEqual(name) {
            guard let width = file.big(at + 8, 4), let height = file.big(at + 12, 4), width < 1 << 24, height < 1 << 24
            else { continue }
            // Thumbnails and tiles have their own boxes, so the largest size is the picture's.
            if width * height > largest { (largest, facts.width, facts.height) = (width * height, width, height) }
        }
        return facts
    }

    private static func ico(_ file: Bytes) -> MediaFacts? {
        guard file.little(0, 2) == 0, file.little(2, 2) == 1, let count = file.little(4, 2), (1...256).contains(count)
        else { return nil }
        let sizes = (0..<count).compactMap { index -> (Int, Int)? in
            guard let width = file[6 + 16 * index], let height = file[7 + 16 * index] else { return nil }
            return (width == 0 ? 256 : width, height == 0 ? 256 : height)
        }
        let largest = sizes.max { $0.0 < $1.0 }
        return MediaFacts(contentType: "image/x-icon", width: largest?.0, height: largest?.1)
    }

    private static func other(_ file: Bytes) -> MediaFacts? {
        let signs: [(String, Int, String)] = [
            ("ID3", 0, "audio/mpeg"), ("OggS", 0, "audio/ogg"), ("fLaC", 0, "audio/flac"), ("WAVE", 8, "audio/wav"),
            ("PK\u{3}\u{4}", 0, "application/zip"), ("\u{1A}E", 0, "video/webm"), ("wOF2", 0, "font/woff2"),
            ("BM", 0, "image/bmp"),
        ]
        return signs.first { file.has($0.0, at: $0.1) }.map { MediaFacts(contentType: $0.2) }
    }

    private static func svg(_ file: Bytes) -> MediaFacts? {
        file.bytes.withUnsafeBufferPointer { bytes in
            var reader = TagReader(UnsafeBufferPointer(rebasing: bytes.prefix(64 << 10)))
            while let token = reader.next() {
                switch token {
                case .text(let range): if bytes[range].contains(where: { !$0.isSpace && $0 < 0x80 }) { return nil }
                case .rawText, .other: continue
                case .end: return nil
                case .start(let name):
                    guard name == "svg" else { return nil }
                    var facts = MediaFacts(contentType: "image/svg+xml")
                    facts.width = reader["width"].flatMap(pixels)
                    facts.height = reader["height"].flatMap(pixels)
                    if facts.width == nil || facts.height == nil, let box = reader["viewbox"] {
                        let numbers = box.split { $0 == " " || $0 == "," }.compactMap { Double($0) }
                        if numbers.count == 4 {
                            (facts.width, facts.height) = (pixels("\(numbers[2])"), pixels("\(numbers[3])"))
                        }
                    }
                    return facts
                }
            }
            return nil
        }
    }

    private static func pixels(_ text: String) -> Int? {
        let number = text.hasSuffix("px") ? String(text.dropLast(2)) : text
        guard let value = Double(number), (1...100_000).contains(value) else { return nil }
        return Int(value.rounded())
    }
}
