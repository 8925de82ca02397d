import Web
import WebSyntax

/// A server that a credential may be sent to, written `NAME=ORIGIN`: `storage=https://s3.example.org`.
///
/// An origin is a scheme, a host and a port. All three must be the same, so that users who may name a credential in a
/// job cannot send it to their own server.
public struct CredentialOrigin: Sendable, Hashable, CustomStringConvertible {
    /// The name of the credential.
    public let name: String
    /// The origin, in the form of ``WebURL/origin``.
    public let origin: String

    /// Parses `NAME=ORIGIN`. Returns nil if the name is missing, or if the URL contains more than an origin.
    public init?(_ text: String) {
        guard let mark = text.firstIndex(of: "="), mark != text.startIndex else { return nil }
        // The parsing error is not needed: a text that is not a URL is not an origin either.
        guard let url = try? WebURL(parsing: String(text[text.index(after: mark)...])) else { return nil }
        // The URL standard accepts `*` in a host name, but the administrator would mean a wildcard, which is not
        // supported.
        guard !url.origin.contains("*"), url.path == "/", url.query == nil, url.fragment == nil, !url.hadUserinfo else {
            return nil
        }
        name = String(text[..<mark])
        origin = url.origin
    }

    /// Whether the credential of this name may be sent to this URL.
    public func permits(_ name: String, at url: WebURL) -> Bool { self.name == name && origin == url.origin }

    public var description: String { "\(name)=\(origin)" }
}

extension UploadConfiguration {
    /// Returns the secret of a credential, if it may be sent to this URL. Every secret that Halyard sends is read
    /// through this function.
    ///
    /// - Throws: `credential_refused` if it may not be sent there, `credential_not_found` if it does not exist or is
    ///   invalid.
    func secret(named name: String, for url: WebURL) throws(KindFailure) -> String {
        try permit(name, at: url)
        guard let secret = try credentials(name) else {
            throw KindFailure(
                .credentialNotFound,
                "The credential \(name.printable) does not exist; the administrator must put it into a file of that name in the "
                    + "folder set by upload.credentials or, under systemd, add it with LoadCredential=.")
        }
        guard !secret.isEmpty, secret.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw KindFailure(
                .credentialNotFound, "The credential is empty or contains control characters; correct its file.")
        }
        return secret
    }

    func permit(_ name: String, at url: WebURL) throws(KindFailure) {
        guard credentialOrigins.contains(where: { $0.permits(name, at: url) }) else {
            throw KindFailure(
                .credentialRefused,
                "The credential \(name.printable) may not be sent to \(url.origin); check the name and the address, or ask the "
                    + "administrator to add `\(name.printable)=\(url.origin)` to upload.credential_origins.", url: url)
        }
    }
}
