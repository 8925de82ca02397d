import FoundationEssentials
import Jobs
import NIOHTTP1
import Web
import WebSyntax

extension Upload {
    /// The headers that an input must not set. Most of them frame or route the message, which Halyard does itself.
    /// Secrets belong in a credential, since an input is stored and displayed.
    private static let refused: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
        "proxy-authorization", "proxy-connection", "content-type", "user-agent",
    ]
    private static let maxPrefixBytes = 128

    static func headers(of input: Input) throws(KindFailure) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.add(name: "accept", value: "*/*")
        for (name, value) in (input.headers ?? [:]).sorted(by: { $0.key < $1.key }) {
            let lower = name.lowercased()
            if Self.refused.contains(lower) { throw .invalid("headers", "must not set `\(lower)`; remove it") }
            let isScheme = ["bearer ", "basic "].contains { value.lowercased().hasPrefix($0) }
            if Self.namesSecret(lower) || isScheme {
                throw .invalid(
                    "headers",
                    "must not contain secrets (`\(lower.printable)`), because inputs are stored and displayed; "
                        + "put the value into a credential, set `credential` to its name, and set "
                        + "`credential_header` to the header's name")
            }
            guard !name.isEmpty, name.utf8.allSatisfy(FieldName.isToken),
                value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw .invalid("headers", "has a name or a value that HTTP does not allow") }
            headers.replaceOrAdd(name: name, value: value)
        }
        return headers
    }

    /// The value of `Authorization` for a secret. A secret with a scheme (`Bearer …`) is sent unchanged,
    /// `USER:PASSWORD` as Basic, and anything else as a bearer token.
    static func authorization(_ secret: String) -> String {
        if secret.contains(" ") { return secret }
        if secret.contains(":") { return "Basic " + Data(secret.utf8).base64EncodedString() }
        return "Bearer " + secret
    }

    fileprivate static func checkCredentialHeader(_ name: String) throws(KindFailure) {
        guard !name.isEmpty, name.utf8.allSatisfy(FieldName.isToken) else {
            throw .invalid("credential_header", "is not a valid header name")
        }
        let lower = name.lowercased()
        if refused.contains(lower) || ["accept", "range", "if-none-match"].contains(lower) {
            throw .invalid(
                "credential_header", "must not be `\(lower)`, which has another meaning; use another header")
        }
    }

    fileprivate static func checkCredentialPrefix(_ prefix: String) throws(KindFailure) {
        guard prefix.utf8.count <= maxPrefixBytes, prefix.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
            throw .invalid("credential_prefix", "must be printable ASCII of at most \(maxPrefixBytes) bytes")
        }
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
    var secretHeader: CredentialHeader { CredentialHeader(name: credentialHeader, prefix: credentialPrefix) }

    func checkCredential(at stage: PlannedInput.Stage) throws(KindFailure) {
        let field = credentialHeader == nil ? "credential_prefix" : "credential_header"
        guard credentialHeader != nil || credentialPrefix != nil else { return }
        if style == .s3 { throw .invalid(field, "is not allowed for s3, which signs with the credential; remove it") }
        if stage != .definition, credential == nil {
            throw .invalid(field, "needs a credential; set `credential`")
        }
        if let name = credentialHeader { try Upload.checkCredentialHeader(name) }
        let isSetTwice = (headers ?? [:]).keys.contains { $0.lowercased() == secretHeader.name }
        if isSetTwice {
            throw .invalid("headers", "must not also set the header named in `credential_header`; remove it")
        }
        if let prefix = credentialPrefix { try Upload.checkCredentialPrefix(prefix) }
    }

    /// The file name for the server: the file's own name in printable characters, of at most 255 bytes. For a file in
    /// the spool, `spool:ID/NAME`, it is `NAME`.
    var fileName: String {
        guard let file = kept?.name ?? file else { return "body" }
        let path = SpooledFile(file)?.suffix ?? file[...]
        // Bytes are split, since a combining character after the slash would hide it.
        var name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)).printable } ?? ""
        while name.utf8.count > 255 { name.removeLast() }
        return name.isEmpty || name == "." || name == ".." ? "file" : name
    }
}
