import FoundationEssentials
import Jobs
import WebSyntax

/// The credential of an upload, in the forms in which a server may repeat it. None of them may reach the database.
struct Secrets: Sendable {
    private let forms: [[UInt8]]

    static let empty = Secrets(forms: [])

    private init(forms: [[UInt8]]) { self.forms = forms }

    /// - Parameter sent: The value of the header that carries the secret, if one does.
    init(_ secret: String, sentAs sent: String?) {
        var texts = [secret]
        if let sent { texts += [sent] + sent.split(separator: " ").dropFirst().map(String.init) }
        // In `Bearer TOKEN`, `USER:PASSWORD` and `ACCESS:SECRET:TOKEN`, the first word alone is not secret.
        texts += secret.split(separator: " ").dropFirst().map(String.init)
        texts += secret.split(separator: ":").dropFirst().map(String.init)
        forms = Set(texts).filter { !$0.isEmpty }.map { Array($0.utf8) }
    }

    /// Whether the bytes contain the secret, either as it is or percent-encoded as in a URL or a form.
    func appear(in bytes: [UInt8]) -> Bool {
        if forms.isEmpty { return false }
        let decoded = PercentEncoding.decode(bytes[...])
        return forms.contains { bytes.firstRange(of: $0) != nil || decoded.firstRange(of: $0) != nil }
    }

    /// Whether a name or a string in the JSON contains the secret, no matter how its characters are escaped.
    func appear(in json: JSONText) -> Bool {
        if forms.isEmpty { return false }
        switch json.shape {
        case .object:
            return (JSONObject(json) ?? JSONObject()).fields.contains {
                appear(in: Array($0.name.utf8)) || appear(in: $0.value)
            }
        case .array: return (json.elements ?? []).contains { appear(in: $0) }
        case .string: return appear(in: Array((json.decodedString ?? "").utf8))
        case .number, .boolean, .null: return appear(in: json.bytes)
        }
    }

    /// A header's value, or nil if it contains the secret.
    func concealed(_ value: String?) -> String? { value.flatMap { appear(in: Array($0.utf8)) ? nil : $0 } }
}
