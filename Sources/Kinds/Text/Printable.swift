extension String {
    /// Without control, format and bidirectional characters, and not endless: for messages.
    var printable: String {
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
