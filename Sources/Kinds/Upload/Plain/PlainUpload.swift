import Crypto
import NIOHTTP1

/// One request with everything in it: PUT, POST, or POST of a form with a file.
struct PlainUpload: Sendable {
    enum Shape: Sendable {
        case put
        case post
        /// `multipart/form-data` with the file in this field (RFC 7578).
        case form(field: String, fileName: String, boundary: String)
    }

    let transfer: Transfer
    let shape: Shape
    /// Whether what is there already must stay: `If-None-Match: *`.
    let createsOnly: Bool

    func run() async throws(KindFailure) -> Upload.Output {
        var url = transfer.url
        for _ in 0...5 {
            var hash = SHA256()
            let reply = try await transfer.send(
                piece, as: method, to: url, headers: headers, hash: &hash)
            switch reply.status {
            case 200..<300: return try transfer.receipt(reply, hash: hash)
            case 307, 308:
                let next = try Redirect.target(of: reply.response)
                guard next.origin == transfer.url.origin else {
                    throw KindFailure(
                        .redirectRefused,
                        "\(url.redacted): the server points to another one, \(next.origin); name that address in `to`.",
                        url: next)
                }
                url = next
            case 300..<400:
                throw KindFailure(
                    .redirectRefused,
                    "\(url.redacted): the server answered \(reply.status), which drops what is sent; name the final address in "
                        + "`to`.", status: reply.status, url: url)
            case 412 where createsOnly:
                throw KindFailure(
                    .alreadyExists,
                    "\(url.redacted): something is there already, and `create_only` keeps it; name another address.",
                    status: 412,
                    url: url)
            default: throw .status(reply.response, at: url)
            }
        }
        throw KindFailure(
            .tooManyRedirects, "\(url.redacted): more than 5 redirects; name the final address in `to`.", url: url)
    }

    private var method: HTTPMethod { if case .put = shape { .PUT } else { .POST } }

    private var headers: HTTPHeaders {
        var headers = transfer.headers
        var type = transfer.contentType
        if case .form(_, _, let boundary) = shape { type = "multipart/form-data; boundary=\(boundary)" }
        headers.replaceOrAdd(name: "content-type", value: type)
        if createsOnly { headers.replaceOrAdd(name: "if-none-match", value: "*") }
        return headers
    }

    private var piece: Transfer.Piece {
        var piece = Transfer.Piece(range: 0..<transfer.source.size)
        if case .form(let field, let fileName, let boundary) = shape {
            piece.prefix = Array(
                ("--\(boundary)\r\ncontent-disposition: form-data; name=\"\(Self.quoted(field))\"; filename=\"\(Self.quoted(fileName))\"\r\n"
                    + "content-type: \(transfer.contentType)\r\n\r\n").utf8)
            piece.suffix = Array("\r\n--\(boundary)--\r\n".utf8)
        }
        return piece
    }

    /// As the HTML standard escapes names in forms.
    private static func quoted(_ text: String) -> String {
        text.replacing("\"", with: "%22").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }
}
