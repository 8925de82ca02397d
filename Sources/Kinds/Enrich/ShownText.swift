/// What a page shows without marking it up: the lines that may name an author or a date, and the first paragraph.
///
/// A line is what stands between the borders of blocks. Only short ones are kept, and only a few.
struct ShownText: Sendable {
    struct Line: Sendable, Hashable {
        /// As written, with its references.
        var text: String
        /// How many lines after the heading, or before it when below zero; nil on a page without one.
        var distance: Int?
    }

    static let maxLineBytes = 160
    static let maxParagraphBytes = 1200
    static let maxLines = 60

    private(set) var lines: [Line] = []
    /// Lines that say whose the page is, wherever they stand; the last three.
    private(set) var rights: [String] = []
    /// The first after the heading, else the first of all.
    private(set) var paragraph: String?

    private var line: [UInt8] = []
    private var isTooLong = false
    private var number = 0
    /// The number of the line at which the heading stood.
    private var heading: Int?
    private var isHeadingNamed = false
    private var isParagraphAfterHeading = false

    /// - Parameter isNamed: Whether its class says that it is the title: then it outweighs a heading that does not.
    mutating func beginHeading(isNamed: Bool) {
        guard heading == nil || isNamed && !isHeadingNamed else { return }
        heading = number + 1
        isHeadingNamed = isNamed
        isParagraphAfterHeading = false
    }

    /// - Parameter isInParagraph: Whether it stands in a `p`.
    mutating func append(_ text: some Collection<UInt8>, isInParagraph: Bool) {
        if isTooLong { return }
        let limit = isInParagraph && !isParagraphAfterHeading ? Self.maxParagraphBytes : Self.maxLineBytes
        if line.count + text.count > limit {
            isTooLong = true
            // The beginning of a long paragraph is as good as the whole.
            if limit == Self.maxParagraphBytes { line.append(contentsOf: text.prefix(limit - line.count)) }
        } else {
            line.append(contentsOf: text)
        }
    }

    /// - Parameter isBeside: Whether the line belongs to something else than the page's own text.
    mutating func endLine(isInParagraph: Bool, isBeside: Bool) {
        if line.isEmpty, !isTooLong { return }
        defer {
            line.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        guard isTooLong || line.contains(where: { !$0.isSpace }) else { return }
        number += 1
        if !isTooLong, Self.namesOwner(line) {
            if rights.count == 3 { rights.removeFirst() }
            rights.append(String(decoding: line, as: UTF8.self))
        }
        if isBeside { return }
        if isInParagraph, !isParagraphAfterHeading, line.count >= 80, paragraph == nil || heading != nil {
            paragraph = Self.whole(line, isCut: isTooLong)
            isParagraphAfterHeading = heading != nil
        }
        if !isTooLong, line.count <= Self.maxLineBytes, lines.count < Self.maxLines, Self.isTelling(line) {
            lines.append(Line(text: String(decoding: line, as: UTF8.self), distance: number))
        }
    }

    /// To be called at the end: until then lines are counted from the beginning.
    mutating func finish() {
        for index in lines.indices {
            lines[index].distance = heading.flatMap { start in lines[index].distance.map { $0 - start } }
        }
    }

    /// Up to the last whole word.
    private static func whole(_ text: [UInt8], isCut: Bool) -> String {
        guard isCut, let space = text.lastIndex(where: \.isSpace) else { return String(decoding: text, as: UTF8.self) }
        return String(decoding: text[..<space], as: UTF8.self) + "…"
    }

    private static func namesOwner(_ line: [UInt8]) -> Bool {
        let start = line.drop { $0.isSpace }.prefix(9).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return owners.contains { start.starts(with: $0) }
    }

    private static let owners = ["copyright", "©", "&copy;", "&#169;", "&#xa9;", "(c)"].map { Array($0.utf8) }

    /// Whether it begins like a byline or holds something like a date.
    private static func isTelling(_ line: [UInt8]) -> Bool {
        let start = line.drop { $0.isSpace }
        let words = start.prefix(14).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        if bylineStarts.contains(where: { words.starts(with: $0) }) { return true }
        return looksDated(line)
    }

    /// Whether it holds a year, or two points or strokes between numbers.
    private static func looksDated(_ line: [UInt8]) -> Bool {
        var digits = 0
        var value = 0
        var joined = 0
        for byte in line + [0x20] {
            if (0x30...0x39).contains(byte) {
                digits += 1
                value = digits <= 4 ? value * 10 + Int(byte - 0x30) : value
                continue
            }
            if digits == 4, (1990...2100).contains(value) { return true }
            if digits > 0, joined == 2 { return true }
            let isJoint = byte == UInt8(ascii: ".") || byte == UInt8(ascii: "/")
            joined = digits > 0 && digits <= 2 && isJoint ? joined + 1 : 0
            (digits, value) = (0, 0)
        }
        return false
    }

    private static let bylineStarts: [[UInt8]] = [
        "by ", "by:", "von ", "von:", "par ", "por ", "di ", "da ", "door ", "av ", "af ", "text", "autor", "author",
        "written", "posted", "published by", "geschrieben", "verfasst", "ver\u{F6}ffentlicht", "erstellt", "publi",
        "escrito", "scritto", "words", "story", "ein beitrag", "beitrag von", "gastbeitrag", "ein gastbei",
    ].map { Array($0.utf8) }
}
