import CivilCalendar

/// Makes text from inputs, outputs, names and errors harmless on a terminal.
///
/// It escapes every character that could move the cursor, change colours or the title, reorder text, or be
/// invisible: C0 and C1 controls (and so ESC, CSI and OSC), line and paragraph separators, bidirectional
/// controls and other format characters. Zero-width joiners stay, since some scripts and emoji need them.
enum TerminalText {
    static func safe(_ text: some StringProtocol) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return String(text) }
        var result = ""
        for scalar in text.unicodeScalars {
            if isHarmless(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                result += escape(scalar)
            }
        }
        return result
    }

    static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F: true
        case 0..<0x20, 0x7F..<0xA0: false
        case 0x200C, 0x200D: true
        case 0xA0..<0x300: scalar.value != 0xAD
        // Some versions of Unicode's tables do not list these as format characters.
        case 0xE0000...0xE0FFF: false
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: !isNonCharacter(scalar)
            }
        }
    }

    private static func isNonCharacter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value & 0xFFFE == 0xFFFE || (0xFDD0...0xFDEF).contains(scalar.value)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default:
            scalar.value < 0x80
                ? "\\x" + scalar.value.padded(2, radix: 16)
                : scalar.value <= 0xFFFF
                    ? "\\u" + scalar.value.padded(4, radix: 16) : "\\U" + scalar.value.padded(8, radix: 16)
        }
    }

    /// Returns the same JSON value, with every dangerous character in its strings as a `\u` escape.
    ///
    /// In JSON, characters beyond ASCII and U+007F appear only inside strings, so they can be replaced in
    /// place.
    static func safe(json bytes: [UInt8]) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x7F }) { return bytes }
        var result = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            // White space between tokens is harmless, and inside strings JSON allows these characters only as
            // escapes.
            if scalar == "\n" || scalar == "\t" || scalar == "\r" || isHarmless(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                for unit in String(scalar).utf16 { result += "\\u" + unit.padded(4, radix: 16) }
            }
        }
        return Array(result.utf8)
    }
}
