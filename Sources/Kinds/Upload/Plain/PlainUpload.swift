import Crypto
import FoundationEssentials
import NIOHTTP1
import Web
import WebSyntax

/// An upload in one request: PUT, POST, or POST of a form with the file.
struct PlainUpload: Sendable {
    enum Shape: Sendable {
        case put
        case post
        /// `multipart/form-data` with these fields before the file (RFC 7578), since S3 ignores fields after the file.
        case form(fields: [Upload.FormField], file: String, boundary: String)
    }

    let transfer: Transfer
    let shape: Shape

    private var plan: UploadPlan { transfer.plan }

    func run() async throws(KindFailure) -> Upload.Output {
        var request = request
        // A larger file would have to be read twice for this, unless its digest is known.
        if !isForm, plan.expected != nil || plan.size <= 1 << 20 {
            let digest =
                if let expected = plan.expected { expected } else {
                    try await transfer.digest(of: 0..<plan.size, by: .sha256)
                }
            request.headers.replaceOrAdd(name: "repr-digest", value: ServerDigest.field(digest))
        }
        if case .put = shape, let stored = try await transfer.storedBefore() {
            return plan.receipt(stored.reply, digest: stored.digest, isConfirmed: true)
        }
        var hash: SHA256? = SHA256()
        let reply = try await transfer.perform(request, digest: &hash)
        let url = reply.head.url
        switch reply.status {
        case 200..<300:
            let digest = (hash ?? SHA256()).value
            return plan.receipt(
                reply, digest: digest, isConfirmed: try ServerDigest.check(reply.head, against: digest))
        case 300..<400:
            throw KindFailure(
                .redirectRefused, at: url,
                "the server answered \(reply.status), a redirect that drops the sent content; use the final address in "
                    + "`to`.", status: reply.status)
        case 412 where plan.createsOnly:
            // An earlier attempt may have stored the content, although its response was lost.
            if plan.isRepeat, let stored = try await transfer.stored(at: url) {
                return plan.receipt(stored.reply, digest: stored.digest, isConfirmed: true)
            }
            throw .alreadyExists(url)
        default: throw .status(reply.head, at: url)
        }
    }

    private var isForm: Bool { if case .form = shape { true } else { false } }

    private var request: UploadRequest {
        var request = UploadRequest(.POST, plan.url, plan.headers)
        if case .put = shape { request.method = .PUT }
        request.followsRedirects = true
        var type = plan.contentType
        var piece = UploadRequest.Piece(range: 0..<plan.size)
        if case .form(let fields, let field, let boundary) = shape {
            type = "multipart/form-data; boundary=\(boundary)"
            let before = fields.map {
                "--\(boundary)\r\ncontent-disposition: form-data; name=\"\(Self.quoted($0.name))\"\r\n\r\n\($0.value)\r\n"
            }
            piece.prefix = Array(
                (before.joined()
                    + "--\(boundary)\r\ncontent-disposition: form-data; name=\"\(Self.quoted(field))\"; filename=\"\(Self.quoted(plan.fileName))\"\r\n"
                    + "content-type: \(plan.contentType)\r\n\r\n").utf8)
            piece.suffix = Array("\r\n--\(boundary)--\r\n".utf8)
        }
        request.content = .piece(piece)
        request.headers.replaceOrAdd(name: "content-type", value: type)
        if plan.createsOnly { request.headers.replaceOrAdd(name: "if-none-match", value: "*") }
        request.headers.replaceOrAdd(name: "want-repr-digest", value: "sha-256=10")
        return request
    }

    /// Escapes a name in a form as the HTML standard does.
    private static func quoted(_ text: String) -> String {
        text.replacing("\"", with: "%22").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }
}
