extension String {
    /// The first 200 scalars, with control, format and bidirectional characters replaced by U+FFFD: a form that is safe
    /// to print in a message.
    package var printable: String {
        let scalars = unicodeScalars.prefix(200).map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
