import Web

extension Upload {
    /// A form field in addition to the file's, such as one that the policy of an S3 POST requires.
    public struct FormField: Codable, Sendable, Hashable {
        public var name: String
        public var value: String

        /// Creates a field. ``Upload`` refuses an empty name.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        static let most = 100
        static let maxBytes = 64 << 10
    }
}

extension Upload.Input {
    func checkForm() throws(KindFailure) {
        guard let formFields else { return }
        if style != .form, !formFields.isEmpty {
            throw .invalid(
                "form_fields", "is allowed only for the protocol `form`; set that protocol, or remove this field")
        }
        let bytes = formFields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard formFields.count <= Upload.FormField.most, bytes <= Upload.FormField.maxBytes else {
            throw .invalid(
                "form_fields",
                "has \(formFields.count) fields with \(bytes) bytes in total; the limits are \(Upload.FormField.most) fields and "
                    + "\(Upload.FormField.maxBytes) bytes")
        }
        guard formFields.allSatisfy({ !$0.name.isEmpty && !$0.name.utf8.contains(0) && !$0.value.utf8.contains(0) })
        else { throw .invalid("form_fields", "has a field without a name or with the character U+0000") }
    }
}
