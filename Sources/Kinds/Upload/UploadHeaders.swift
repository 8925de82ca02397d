import FoundationEssentials
import NIOHTTP1

extension Upload {
    /// Headers that decide how the message is framed or who it is for are ours; secrets come by credential only, since an
    /// input is stored and shown.
    private static let refused: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
        "proxy-authorization", "proxy-connection", "content-type", "user-agent",
    ]
    private static let secret: Set<String> = ["authorization", "cookie", "x-api-key", "x-amz-security-token"]

    func headers(of input: Input) throws(KindFailure) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.add(name: "accept", value: "*/*")
        for (name, value) in (input.headers ?? [:]).sorted(by: { $0.key < $1.key }) {
            let lower = name.lowercased()
            if Self.refused.contains(lower) { throw .invalid("headers", "must not set `\(lower)`; remove it") }
            if Self.secret.contains(lower) {
                throw .invalid("headers", "must not hold secrets (`\(lower)`); name a credential instead")
            }
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte),
                value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw .invalid("headers", "has a name or a value that HTTP does not allow") }
            headers.replaceOrAdd(name: name, value: value)
        }
        return headers
    }

    /// The secret that the input names.
    func secret(of input: Input) throws(KindFailure) -> String? {
        guard let name = input.credential else { return nil }
        guard let secret = try configuration.credentials(name) else {
            throw KindFailure(
                .credentialNotFound,
                "The credential \(name.printable) is not there; the administrator can add it with LoadCredential=.")
        }
        guard !secret.isEmpty, secret.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw KindFailure(
                .credentialNotFound, "The credential is empty or holds control characters; correct its file.")
        }
        return secret
    }

    /// The secret as it stands when it names a scheme (`Bearer …`); `USER:PASSWORD` as Basic; anything else as a bearer token.
    static func authorization(_ secret: String) -> String {
        if secret.contains(" ") { return secret }
        if secret.contains(":") { return "Basic " + Data(secret.utf8).base64EncodedString() }
        return "Bearer " + secret
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) && byte >= 0x41
            || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    func contentType(of input: Input) throws(KindFailure) -> String {
        if let given = input.contentType {
            guard !given.isEmpty, given.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
                throw .invalid("content_type", "must be a media type such as image/png")
            }
            return given
        }
        guard let file = input.file else { return "text/plain; charset=utf-8" }
        let name = file.split(separator: "/").last ?? ""
        let suffix = name.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last.map {
            $0.lowercased()
        }
        return suffix.flatMap { Self.types[$0] } ?? "application/octet-stream"
    }

    private static let types = [
        "avif": "image/avif", "css": "text/css", "csv": "text/csv", "gif": "image/gif", "gz": "application/gzip",
        "htm": "text/html", "html": "text/html", "ico": "image/x-icon", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "md": "text/markdown", "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "ogg": "audio/ogg", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "txt": "text/plain; charset=utf-8", "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp",
        "xml": "application/xml", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
