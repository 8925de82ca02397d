/// A server that a credential may be sent to, written `NAME=ORIGIN`: `storage=https://s3.example.org`.
///
/// The origin is scheme, host and port; each must be the same, so that whoever may name a credential in a job cannot send
/// it to a server of their own.
public struct CredentialOrigin: Sendable, Hashable, CustomStringConvertible {
    public let name: String
    /// As ``WebURL/origin`` writes it.
    public let origin: String

    /// Nil when there is no name, or more than an origin after it.
    public init?(_ text: String) {
        guard let mark = text.firstIndex(of: "="), mark != text.startIndex else { return nil }
        // What is no address is no origin either.
        guard let url = try? WebURL(parsing: String(text[text.index(after: mark)...])) else { return nil }
        // The standard takes a star for a name; whoever writes one means something else.
        guard !url.origin.contains("*"), url.path == "/", url.query == nil, url.fragment == nil, !url.hadUserinfo else {
            return nil
        }
        name = String(text[..<mark])
        origin = url.origin
    }

    /// Whether this lets the credential of that name go to that address.
    public func permits(_ name: String, at url: WebURL) -> Bool { self.name == name && origin == url.origin }

    public var description: String { "\(name)=\(origin)" }
}

extension UploadConfiguration {
    /// The secret of that name, when it may be sent to that address. Every secret that leaves comes from here.
    func secret(named name: String, for url: WebURL) throws(KindFailure) -> String {
        try permit(name, at: url)
        guard let secret = try credentials(name) else {
            throw KindFailure(
                .credentialNotFound,
                "The credential \(name.printable) is not there; the administrator puts it into a file of that name in the "
                    + "folder that upload.credentials names, or under systemd adds it with LoadCredential=.")
        }
        guard !secret.isEmpty, secret.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw KindFailure(
                .credentialNotFound, "The credential is empty or holds control characters; correct its file.")
        }
        return secret
    }

    func permit(_ name: String, at url: WebURL) throws(KindFailure) {
        guard credentialOrigins.contains(where: { $0.permits(name, at: url) }) else {
            throw KindFailure(
                .credentialRefused,
                "The credential \(name.printable) may not be sent to \(url.origin); check the name and the address, or let the "
                    + "administrator add `\(name.printable)=\(url.origin)` to upload.credential_origins.", url: url)
        }
    }
}
