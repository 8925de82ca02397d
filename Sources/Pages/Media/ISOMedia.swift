/// The media types of ISO base media files: MP4, QuickTime, 3GP, AVIF and HEIF (ISO/IEC 14496-12, 4.3).
///
/// Such a file begins with an `ftyp` box: four bytes of length, `ftyp`, the major brand, four bytes of version, and
/// the compatible brands. A brand is four bytes long.
package enum ISOMedia {
    /// Prefixes of brands; the first that fits decides.
    private static let types = [
        ("avif", "image/avif"), ("avis", "image/avif"), ("hei", "image/heic"), ("hev", "image/heic-sequence"),
        ("M4A ", "audio/mp4"), ("M4B ", "audio/mp4"), ("M4P ", "audio/mp4"), ("qt  ", "video/quicktime"),
        ("3g2", "video/3gpp2"), ("3g", "video/3gpp"), ("M4V", "video/mp4"), ("mp4", "video/mp4"),
        ("iso", "video/mp4"), ("avc1", "video/mp4"), ("dash", "video/mp4"),
    ]
    /// The brand of pictures in any encoding. Files of AVIF and HEIC may carry it as their major brand.
    private static let picture = "mif1"
    /// Ordinary files have at most ten brands, and a hostile file could have very many.
    private static let maxBrands = 64

    /// Returns the media type for a file's first bytes: that of the major brand or, if it has none, that of the first
    /// compatible brand that has one. Nil for other files and unknown brands.
    package static func type(of head: [UInt8]) -> String? {
        guard head.count >= 12, head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        let length = head[..<4].reduce(0) { $0 << 8 | Int($1) }
        let end = min(length, head.count)
        let places = [8] + stride(from: 16, through: end - 4, by: 4).prefix(maxBrands)
        let brands = places.map { String(decoding: head[$0..<$0 + 4], as: UTF8.self) }
        for brand in brands {
            if let type = types.first(where: { brand.hasPrefix($0.0) })?.1 { return type }
        }
        return brands.contains(picture) ? "image/heif" : nil
    }
}
