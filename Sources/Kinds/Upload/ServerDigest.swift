import FoundationEssentials
import NIOHTTP1

/// The digest that a server may name in its answer (RFC 9530, and S3's own header).
enum ServerDigest {
    /// - Returns: Whether the server named a SHA-256 at all.
    /// - Throws: `checksum_mismatch` when it is another one.
    static func check(_ response: OutgoingResponse, against digest: [UInt8]) throws(KindFailure) -> Bool {
        guard let isSame = isSame(response, as: digest) else { return false }
        if isSame { return true }
        throw KindFailure(
            .checksumMismatch,
            "\(response.url.redacted): the server stored something else than was sent (SHA-256 differs); upload it again.",
            isRetryable: true, status: response.status, url: response.url)
    }

    /// - Parameter isHead: Whether the answer is about what is there, and not about what was sent.
    /// - Returns: Nil when the server names none.
    static func isSame(_ response: OutgoingResponse, as digest: [UInt8], isHead: Bool = false) -> Bool? {
        var named = response.headers["x-amz-checksum-sha256"]
        // Of what was stored only when the answer is not a representation of its own, such as a page that says it is done.
        // Content-Digest is always about the answer's own body.
        let isStored =
            isHead || response.status == 204 || response.headers["content-length"].first == "0"
            || response.headers.contains(name: "content-location")
        for member in isStored ? response.headers[canonicalForm: "repr-digest"] : []
        where member.hasPrefix("sha-256=:") && member.hasSuffix(":") {
            named.append(String(member.dropFirst("sha-256=:".count).dropLast()))
        }
        return named.first.map { Data(base64Encoded: $0) == Data(digest) }
    }
}
