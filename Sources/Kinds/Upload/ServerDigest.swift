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

    /// - Returns: Nil when the server names none.
    static func isSame(_ response: OutgoingResponse, as digest: [UInt8]) -> Bool? {
        var named = response.headers["x-amz-checksum-sha256"]
        // Content-Digest is about the answer's own body, which is not ours.
        for member in response.headers[canonicalForm: "repr-digest"]
        where member.hasPrefix("sha-256=:") && member.hasSuffix(":") {
            named.append(String(member.dropFirst("sha-256=:".count).dropLast()))
        }
        return named.first.map { Data(base64Encoded: $0) == Data(digest) }
    }
}
