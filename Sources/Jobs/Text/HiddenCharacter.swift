import CivilCalendar

/// A character that is invisible, or that changes how the text around it is displayed.
///
/// Graph names, keys and summaries must not contain one; all other names follow stricter rules, which exclude hidden
/// characters too. Otherwise two different names could look alike, and a terminal would execute control sequences in a
/// name.
///
/// Hidden characters are control characters (C0, DEL, C1), line and paragraph separators, bidirectional controls, all
/// zero-width characters (including the joiners), invisible letters, tags, and the replacement character, which shows
/// that text was lost. Variation selectors are allowed: they choose between two glyphs of the preceding character. The
/// schema repeats the rule as CHECKs.
public struct HiddenCharacter: Hashable, Sendable {
    /// The character that was found.
    public let scalar: Unicode.Scalar

    /// Finds the first hidden character in a text; nil if there is none.
    public init?(in text: some StringProtocol) {
        // Fast path: nearly every name is plain ASCII.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return nil }
        guard let scalar = text.unicodeScalars.first(where: Self.isHidden) else { return nil }
        self.scalar = scalar
    }

    /// The beginning of a text for a message, with a replacement character for each hidden one.
    static func excerpt(of text: String) -> String {
        let scalars = text.unicodeScalars
        let beginning = scalars.prefix(excerptLength).map { isHidden($0) ? "\u{FFFD}" : String($0) }.joined()
        return scalars.dropFirst(excerptLength).isEmpty ? beginning : beginning + "…"
    }

    /// The number of characters of an excerpt.
    static let excerptLength = 40

    static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        let value = scalar.value
        return ranges.contains { $0.contains(value) }
    }

    package static let ranges: [ClosedRange<UInt32>] = [
        0x00...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x34F...0x34F, 0x61C...0x61C, 0x115F...0x1160, 0x17B4...0x17B5,
        0x180B...0x180F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0x3164...0x3164, 0xFDD0...0xFDEF,
        0xFEFF...0xFEFF, 0xFFA0...0xFFA0, 0xFFF0...0xFFFB, 0xFFFD...0xFFFF, 0x1BCA0...0x1BCA3, 0x1D173...0x1D17A,
        0xE0000...0xE0FFF,
    ]
}

extension HiddenCharacter: CustomStringConvertible {
    /// The character for people, such as `U+001B, a control character`.
    public var description: String {
        "U+\(scalar.value.padded(4, radix: 16, uppercase: true)), \(sort)"
    }

    private var sort: String {
        Self.sorts.first { $0.values.contains { $0.contains(scalar.value) } }?.words ?? Self.otherSort
    }

    /// The sorts of hidden characters in words. The first one that contains a character counts.
    package static let sorts: [(values: [ClosedRange<UInt32>], words: String)] = [
        ([0x0A...0x0A, 0x0D...0x0D, 0x85...0x85, 0x2028...0x2029], "a line break"),
        ([0x00...0x1F, 0x7F...0x9F], "a control character"),
        (
            [0x61C...0x61C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069],
            "which changes the direction of the text"
        ),
        ([0xFFFD...0xFFFD], "which replaces text that could not be decoded"),
    ]

    /// The words for all other hidden characters.
    package static let otherSort = "which is invisible"
}

extension String {
    /// A copy with each hidden character replaced by an underscore.
    package var withoutHiddenCharacters: String {
        var text = ""
        for scalar in unicodeScalars { text.unicodeScalars.append(HiddenCharacter.isHidden(scalar) ? "_" : scalar) }
        return text
    }
}
