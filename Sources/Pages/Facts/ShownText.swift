import WebSyntax

/// Collects visible text that may state facts without markup: lines that may contain an author or a date, copyright
/// lines, and the first paragraph.
///
/// A line is the text between the borders of blocks. Only a few short lines are kept.
struct ShownText: Sendable {
    struct Line: Sendable, Hashable {
        /// The text as written; character references are not decoded.
        var text: String
        /// The number of lines between the heading and this line, negative above the heading; nil if the page has no
        /// heading.
        var distance: Int?
    }

    static let maxLineBytes = 160
    static let maxParagraphBytes = 1200
    static let maxLines = 60

    private(set) var lines: [Line] = []
    /// The last three copyright lines, wherever they are on the page.
    private(set) var rights: [String] = []
    /// The first paragraph after the heading; if there is none, the first on the page.
    private(set) var paragraph: String?

    private var line: [UInt8] = []
    private var isTooLong = false
    private var number = 0
    /// The number of the heading's line.
    private var heading: Int?
    private var isHeadingNamed = false
    private var isParagraphAfterHeading = false

    /// Notes that a heading begins. The first heading counts, or the first one that is marked as the title, if there is
    /// one.
    ///
    /// - Parameter isNamed: Whether the heading's class, id or `itemprop` marks it as the title.
    mutating func beginHeading(isNamed: Bool) {
        guard heading == nil || isNamed && !isHeadingNamed else { return }
        heading = number + 1
        isHeadingNamed = isNamed
        isParagraphAfterHeading = false
    }

    /// Adds text to the current line.
    ///
    /// - Parameter isInParagraph: Whether the text is in a `p` element.
    mutating func append(_ text: some Collection<UInt8>, isInParagraph: Bool) {
        if isTooLong { return }
        let limit = isInParagraph && !isParagraphAfterHeading ? Self.maxParagraphBytes : Self.maxLineBytes
        if line.count + text.count > limit {
            isTooLong = true
            // The beginning of a long paragraph is enough.
            if limit == Self.maxParagraphBytes { line.append(contentsOf: text.prefix(limit - line.count)) }
        } else {
            line.append(contentsOf: text)
        }
    }

    /// Ends the current line and keeps it if it may state a fact.
    ///
    /// - Parameter isBeside: Whether the line is outside the page's own text, as in a sidebar.
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

    /// Call this once at the end of the page. It converts line numbers to distances from the heading.
    mutating func finish() {
        for index in lines.indices {
            lines[index].distance = heading.flatMap { start in lines[index].distance.map { $0 - start } }
        }
    }

    /// Returns the text; if it was truncated, only up to the last complete word, with an ellipsis.
    private static func whole(_ text: [UInt8], isCut: Bool) -> String {
        guard isCut, let space = text.lastIndex(where: \.isSpace) else { return String(decoding: text, as: UTF8.self) }
        return String(decoding: text[..<space], as: UTF8.self) + "…"
    }

    private static func namesOwner(_ line: [UInt8]) -> Bool {
        let start = line.drop { $0.isSpace }.prefix(9).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return owners.contains { start.starts(with: $0) }
    }

    private static let owners = ["copyright", "©", "&copy;", "&#169;", "&#xa9;", "(c)"].map { Array($0.utf8) }

    /// Whether the line begins like a byline or contains something like a date.
    private static func isTelling(_ line: [UInt8]) -> Bool {
        let start = line.drop { $0.isSpace }
        let words = start.prefix(14).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        if bylineStarts.contains(where: { words.starts(with: $0) }) { return true }
        return looksDated(line)
    }

    /// Whether the line contains a year, or three numbers separated by dots or slashes.
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
