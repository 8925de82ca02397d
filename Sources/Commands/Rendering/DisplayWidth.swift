extension String {
    /// The number of terminal columns that the text occupies. The text must already be safe.
    var displayWidth: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + $1.displayWidth }
    }

    /// Returns the longest beginning that fits into `width` columns, with `…` at the end if something was cut.
    func truncated(to width: Int) -> String {
        if displayWidth <= width { return self }
        if width <= 0 { return "" }
        var result = ""
        var used = 0
        for character in self {
            let next = character.displayWidth
            if used + next > width - 1 { break }
            result.append(character)
            used += next
        }
        return result + "…"
    }
}

extension Character {
    var displayWidth: Int {
        guard let first = unicodeScalars.first else { return 0 }
        // An emoji of several parts, a flag, or a character with the request to show it as an emoji.
        if unicodeScalars.count > 1 {
            if unicodeScalars.contains("\u{FE0F}") || first.properties.isEmojiPresentation { return 2 }
            if (0x1F1E6...0x1F1FF).contains(first.value) { return 2 }
        }
        return unicodeScalars.lazy.map(\.displayWidth).max() ?? 0
    }
}

extension Unicode.Scalar {
    var displayWidth: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        // Hangul vowels and final consonants combine with the preceding syllable.
        if (0x1160...0x11FF).contains(value) { return 0 }
        if properties.isEmojiPresentation { return 2 }
        return Self.wide.contains { $0.contains(value) } ? 2 : 1
    }

    /// The blocks of East Asian wide and full-width characters.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1D300...0x1D37F, 0x1F200...0x1F2FF, 0x20000...0x3FFFD,
    ]
}
