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
        case form(fields: [Upload.FormField], file: String, fileName: String, boundary: String)
    }

    let transfer: Transfer
    let shape: Shape
    /// Whether existing content must be kept (`If-None-Match: *`).
    let createsOnly: Bool

    func run() async throws(KindFailure) -> Upload.Output {
        var url = transfer.url
        var headers = headers
        // A larger file would have to be read twice for this, unless its digest is known.
        if !isForm, transfer.expected != nil || transfer.source.size <= 1 << 20 {
            let whole = 0..<transfer.source.size
            let digest =
                if let expected = transfer.expected { Data(expected) } else {
                    try await transfer.digest(of: whole, by: .sha256)
                }
            headers.replaceOrAdd(name: "repr-digest", value: "sha-256=:\(digest.base64EncodedString()):")
        }
        if case .put = shape, !createsOnly {
            var digest: [UInt8] = []
            let stored = try await transfer.storedBefore { () async throws(KindFailure) in
                guard let there = try await storedIfSame(at: url) else { return nil }
                digest = there.digest
                return there.reply
            }
            if let stored { return try transfer.receipt(stored, digest: digest, isConfirmed: true) }
        }
        for _ in 0...5 {
            var hash: SHA256? = SHA256()
            let reply = try await transfer.send(
                piece, as: method, to: url, headers: headers, hash: &hash)
            switch reply.status {
            case 200..<300: return try transfer.receipt(reply, digest: Array((hash ?? SHA256()).finalize()))
            case 307, 308:
                let next = try Redirect.target(of: reply.response)
                guard next.origin == transfer.url.origin else {
                    throw KindFailure(
                        .redirectRefused,
                        "\(url.redacted): the server redirects to another server, \(next.origin); use that address in `to`.",
                        url: next)
                }
                url = next
            case 300..<400:
                throw KindFailure(
                    .redirectRefused,
                    "\(url.redacted): the server answered \(reply.status), a redirect that drops the sent content; use the final address in "
                        + "`to`.", status: reply.status, url: url)
            case 412 where createsOnly:
                // An earlier attempt may have stored the content, although its response was lost.
                if transfer.isRepeat, let there = try await storedIfSame(at: url) {
                    return try transfer.receipt(there.reply, digest: there.digest, isConfirmed: true)
                }
                throw .alreadyExists(url)
            default: throw .status(reply.response, at: url)
            }
        }
        throw KindFailure(
            .tooManyRedirects, "\(url.redacted): more than 5 redirects; use the final address in `to`.", url: url)
    }

    /// Returns the response about the stored content, and the digest of the source, if the stored content has the same
    /// digest or the same MD5 as ETag. Returns nil otherwise.
    private func storedIfSame(at url: WebURL) async throws(KindFailure) -> (reply: Transfer.Reply, digest: [UInt8])? {
        let headers = transfer.headers.adding(["want-repr-digest": "sha-256=10"])
        let reply = try await transfer.ask(.HEAD, url, headers: headers)
        guard reply.response.isSuccess else { return nil }
        let etag = reply.response.headers["etag"].first?.unquoted
        // Without a digest or such an ETag, there is nothing to compare the source with.
        guard ServerDigest.isSame(reply.response, as: [], isHead: true) != nil || etag?.utf8.count == 32 else {
            return nil
        }
        let digest = Array(try await transfer.digest(of: 0..<transfer.source.size, by: .sha256))
        if let isSame = ServerDigest.isSame(reply.response, as: digest, isHead: true) {
            return isSame ? (reply, digest) : nil
        }
        let md5 = try await transfer.digest(of: 0..<transfer.source.size, by: .md5)
        return etag == md5.hexadecimal ? (reply, digest) : nil
    }

    private var isForm: Bool { if case .form = shape { true } else { false } }

    private var method: HTTPMethod { if case .put = shape { .PUT } else { .POST } }

    private var headers: HTTPHeaders {
        var headers = transfer.headers
        var type = transfer.contentType
        if case .form(_, _, _, let boundary) = shape { type = "multipart/form-data; boundary=\(boundary)" }
        headers.replaceOrAdd(name: "content-type", value: type)
        if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
        headers.replaceOrAdd(name: "want-repr-digest", value: "sha-256=10")
        return headers
    }

    private var piece: Transfer.Piece {
        var piece = Transfer.Piece(range: 0..<transfer.source.size)
        if case .form(let fields, let field, let fileName, let boundary) = shape {
            let before = fields.map {
                "--\(boundary)\r\ncontent-disposition: form-data; name=\"\(Self.quoted($0.name))\"\r\n\r\n\($0.value)\r\n"
            }
            piece.prefix = Array(
                (before.joined()
                    + "--\(boundary)\r\ncontent-disposition: form-data; name=\"\(Self.quoted(field))\"; filename=\"\(Self.quoted(fileName))\"\r\n"
                    + "content-type: \(transfer.contentType)\r\n\r\n").utf8)
            piece.suffix = Array("\r\n--\(boundary)--\r\n".utf8)
        }
        return piece
    }

    /// Escapes a name in a form as the HTML standard does.
    private static func quoted(_ text: String) -> String {
        text.replacing("\"", with: "%22").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }
}
