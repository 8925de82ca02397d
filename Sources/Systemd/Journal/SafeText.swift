extension String {
    /// Returns the text without characters that could move a terminal's cursor, hide text or end a line. It
    /// escapes control characters as `\x1b` and so on, and bidirectional and line-separating ones as
    /// `\u{202e}`.
    ///
    /// - Parameter keepingLines: If true, line feeds and tabs stay unchanged.
    public func printable(keepingLines: Bool = false) -> String {
        guard unicodeScalars.contains(where: { $0.isHostile }) else { return self }
        var safe = ""
        for scalar in unicodeScalars {
            if !scalar.isHostile || keepingLines && (scalar == "\n" || scalar == "\t") {
                safe.unicodeScalars.append(scalar)
            } else if scalar == "\n" {
                safe += "\\n"
            } else if scalar == "\t" {
                safe += "\\t"
            } else if scalar.value < 0x100 {
                let digits = String(scalar.value, radix: 16)
                safe += "\\x" + (digits.count < 2 ? "0" : "") + digits
            } else {
                safe += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
        }
        return safe
    }

    var singleLine: String { printable() }
}

extension Unicode.Scalar {
    /// True for control characters (Cc), format characters (Cf: bidirectional overrides, zero-width characters,
    /// tags), and line and paragraph separators.
    fileprivate var isHostile: Bool {
        if value >= 0x20 && value < 0x7f { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
