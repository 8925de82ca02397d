import Pages

/// The media type of a file for which the input gives none. It depends on the extension of the file's name or, if that
/// is unknown, on the file's first bytes.
enum MediaType {
    static let unknown = "application/octet-stream"
    /// How many of a file's first bytes are examined: the length of the standard's resource header.
    static let headBytes = 1445

    /// Returns the media type for the extension of a file's name; nil if there is none or it is unknown.
    static func named(_ name: String) -> String? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.dropFirst().last.flatMap { endings[$0.lowercased()] }
    }

    /// Returns the media type for a file's first bytes, according to the signatures of WHATWG MIME Sniffing (sections
    /// 6.1, 6.2, 6.4 and the text rule of 7.1), those of ``ISOMedia`` and that of Zstandard. The type is never one that
    /// a browser would run, such as HTML; only a file's name or the input can give such a type.
    static func sniffed(_ head: [UInt8]) -> String {
        if let type = ISOMedia.type(of: head) { return type }
        for signature in signatures where signature.matches(head) { return signature.type }
        if head.isEmpty || head.contains(where: isBinary) { return unknown }
        return "text/plain"
    }

    /// Whether the byte is one of the standard's binary data bytes.
    private static func isBinary(_ byte: UInt8) -> Bool {
        byte <= 0x08 || byte == 0x0B || (0x0E...0x1A).contains(byte) || (0x1C...0x1F).contains(byte)
    }

    private struct Signature {
        let type: String
        /// The bytes that must be present, with their offsets.
        let parts: [(offset: Int, bytes: [UInt8])]

        func matches(_ head: [UInt8]) -> Bool {
            parts.allSatisfy { part in head.dropFirst(part.offset).starts(with: part.bytes) }
        }
    }

    private static func at(_ offset: Int, _ text: StaticString) -> (offset: Int, bytes: [UInt8]) {
        (offset, text.withUTF8Buffer(Array.init))
    }

    private static func start(_ bytes: UInt8...) -> [(offset: Int, bytes: [UInt8])] { [(0, bytes)] }

    private static let signatures: [Signature] = [
        Signature(type: "text/plain", parts: start(0xFE, 0xFF)),
        Signature(type: "text/plain", parts: start(0xFF, 0xFE)),
        Signature(type: "text/plain; charset=utf-8", parts: start(0xEF, 0xBB, 0xBF)),
        Signature(type: "image/x-icon", parts: start(0, 0, 1, 0)),
        Signature(type: "image/bmp", parts: [at(0, "BM")]),
        Signature(type: "image/gif", parts: [at(0, "GIF87a")]),
        Signature(type: "image/gif", parts: [at(0, "GIF89a")]),
        Signature(type: "image/webp", parts: [at(0, "RIFF"), at(8, "WEBPVP")]),
        Signature(type: "image/png", parts: start(0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A)),
        Signature(type: "image/jpeg", parts: start(0xFF, 0xD8, 0xFF)),
        Signature(type: "audio/aiff", parts: [at(0, "FORM"), at(8, "AIFF")]),
        Signature(type: "audio/mpeg", parts: [at(0, "ID3")]),
        Signature(type: "audio/ogg", parts: [at(0, "OggS\0")]),
        Signature(type: "audio/midi", parts: start(0x4D, 0x54, 0x68, 0x64, 0, 0, 0, 6)),
        Signature(type: "video/x-msvideo", parts: [at(0, "RIFF"), at(8, "AVI ")]),
        Signature(type: "audio/wav", parts: [at(0, "RIFF"), at(8, "WAVE")]),
        Signature(type: "video/webm", parts: start(0x1A, 0x45, 0xDF, 0xA3)),
        Signature(type: "application/gzip", parts: start(0x1F, 0x8B, 0x08)),
        Signature(type: "application/zip", parts: [at(0, "PK\u{3}\u{4}")]),
        Signature(type: "application/vnd.rar", parts: [at(0, "Rar!\u{1A}\u{7}")]),
        Signature(type: "application/zstd", parts: start(0x28, 0xB5, 0x2F, 0xFD)),
        Signature(type: "application/pdf", parts: [at(0, "%PDF-")]),
        Signature(type: "application/postscript", parts: [at(0, "%!PS-Adobe-")]),
    ]

    private static let endings = [
        "avif": "image/avif", "css": "text/css", "csv": "text/csv", "gif": "image/gif", "gz": "application/gzip",
        "htm": "text/html", "html": "text/html", "ico": "image/x-icon", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "md": "text/markdown", "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "ogg": "audio/ogg", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "txt": "text/plain; charset=utf-8", "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp",
        "xml": "application/xml", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
