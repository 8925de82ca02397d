import FoundationEssentials

/// How a credential is sent.
struct CredentialHeader: Codable, Sendable, Hashable {
    var name: String
    /// Put before the secret. Without one the secret is written by the rules of ``Upload/authorization(_:)`` for
    /// `Authorization`, and as it stands for any other header.
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
    /// Whether a header with this name, in lower case, usually carries a secret. An input is stored and shown, so a secret in
    /// it would reach everybody who may read the database.
    static func namesSecret(_ name: String) -> Bool {
        // A user's own notes on an object, such as `x-amz-meta-session`.
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
    /// Before `key`: not every key is secret (`Idempotency-Key`).
    private static let keyWords: Set<String> = [
        "access", "account", "admin", "api", "app", "application", "auth", "client", "customer", "encryption",
        "function",
        "functions", "license", "master", "private", "secret", "security", "service", "shared", "signing",
        "subscription",
    ]
}
