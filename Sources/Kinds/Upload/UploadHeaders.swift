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

    static func headers(of input: Input) throws(KindFailure) -> HTTPHeaders {
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

    static func isMediaType(_ text: String) -> Bool {
        guard text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return false }
        let names = text.prefix { $0 != ";" }.trimmingSpaces.split(separator: "/", omittingEmptySubsequences: false)
        return names.count == 2 && names.allSatisfy { !$0.isEmpty && !$0.contains(" ") }
    }

    func contentType(of input: Input, _ source: UploadSource) async throws(KindFailure) -> String {
        if let given = input.contentType { return given }
        guard case .file(let file) = source else { return "text/plain; charset=utf-8" }
        if let type = MediaType.named(input.fileName) { return type }
        let head: Result<[UInt8], KindFailure>
        do {
            head = try await client.threads.runAbandoningOnCancel {
                Result { () throws(KindFailure) in try file.read(at: 0, upTo: MediaType.headBytes) }
            }
        } catch { throw .cancelled }
        return MediaType.sniffed(try head.get())
    }
}

extension Upload.Input {
    /// The name that the server is told: the file's own, as text without anything that is more than text, of at most 255
    /// bytes. A file of the spool is `spool:ID/NAME`.
    var fileName: String {
        guard let file else { return "body" }
        let path = UploadConfiguration.spoolName(in: file) == nil ? file[...] : file.drop { $0 != "/" }
        var name = path.split(separator: "/").last.map { String($0).printable } ?? ""
        while name.utf8.count > 255 { name.removeLast() }
        return name.isEmpty || name == "." || name == ".." ? "file" : name
    }
}
