import FoundationEssentials
import Web

/// The header in which a credential is sent.
struct CredentialHeader: Codable, Sendable, Hashable {
    var name: String
    /// Text before the secret. Without it, `Authorization` follows the rules of ``Upload/authorization(_:)``, and any
    /// other header gets the secret unchanged.
    var prefix: String?

    static let authorization = CredentialHeader(name: nil)

    init(name: String?, prefix: String? = nil) {
        self.name = name?.lowercased() ?? "authorization"
        self.prefix = prefix
    }

    func value(_ secret: String) -> String {
        if let prefix { return prefix + secret }
        return name == "authorization" ? Upload.authorization(secret) : secret
    }
}

extension Upload {
    /// Whether a header with this lower-case name usually carries a secret. Inputs are stored and displayed, so a
    /// secret in an input would reach everybody who may read the database.
    static func namesSecret(_ name: String) -> Bool {
        // User-defined metadata of an object, such as `x-amz-meta-session`, is not a secret.
        if name.contains("-meta-") { return false }
        let words = name.split(whereSeparator: { "-_.".contains($0) })
        guard let last = words.last else { return false }
        if secretWords.contains(String(last)) { return true }
        guard words.count > 1 else { return false }
        let before = String(words[words.count - 2])
        return last == "key" && keyWords.contains(before) || last == "id" && before == "session"
    }

    private static let secretWords: Set<String> = [
        "apikey", "auth", "authorization", "bearer", "cookie", "credential", "credentials", "jwt", "pass", "passphrase",
        "passwd", "password", "pwd", "secret", "session", "sessionid", "token",
    ]
    /// Words that mark a following `key` as a secret. Not every key is secret, for example `Idempotency-Key`.
    private static let keyWords: Set<String> = [
        "access", "account", "admin", "api", "app", "application", "auth", "client", "customer", "encryption",
        "function",
        "functions", "license", "master", "private", "secret", "security", "service", "shared", "signing",
        "subscription",
    ]
}
