import Crypto
import FoundationEssentials
import NIOHTTP1

/// The digest that a server may name in its answer (RFC 9530, and S3's own header).
enum ServerDigest {
    /// - Returns: Whether the server named a SHA-256 at all.
    /// - Throws: `checksum_mismatch` when it is another one.
    static func check(_ response: OutgoingResponse, against digest: SHA256Digest) throws(KindFailure) -> Bool {
        var named = response.headers["x-amz-checksum-sha256"]
        for name in ["content-digest", "repr-digest"] {
            for member in response.headers[canonicalForm: name]
            where member.hasPrefix("sha-256=:") && member.hasSuffix(":") {
                named.append(String(member.dropFirst("sha-256=:".count).dropLast()))
            }
        }
        // Content-Digest of an answer is about the answer's own body, which is not ours unless it says so by Repr-Digest.
        if response.headers.contains(name: "content-digest"), !response.headers.contains(name: "repr-digest") {
            named = response.headers["x-amz-checksum-sha256"]
        }
        guard let first = named.first else { return false }
        guard Data(base64Encoded: first) == Data(digest) else {
            throw KindFailure(
                .checksumMismatch,
                "\(response.url.redacted): the server stored something else than was sent (SHA-256 differs); upload it again.",
                isRetryable: true, status: response.status, url: response.url)
        }
        return true
    }
}
