import FoundationEssentials
import NIOHTTP1
import Web
import WebSyntax

/// The SHA-256 that a server may report in its response (RFC 9530, and S3's own header).
enum ServerDigest {
    /// Compares the reported digest with the digest of the sent content.
    ///
    /// - Returns: False if the server reported no SHA-256.
    /// - Throws: `checksum_mismatch` if the server reported another SHA-256.
    static func check(_ response: ResponseHead, against digest: [UInt8]) throws(KindFailure) -> Bool {
        guard let isSame = isSame(response, as: digest) else { return false }
        if isSame { return true }
        throw KindFailure(
            .checksumMismatch, at: response.url,
            "the server stored something other than what was sent (the SHA-256 differs); upload it again.",
            isRetryable: true, status: response.status)
    }

    /// The value of `Repr-Digest` or `Content-Digest` for a SHA-256.
    static func field(_ digest: [UInt8]) -> String { "sha-256=:\(Data(digest).base64EncodedString()):" }

    /// Whether the server reported this digest for the stored content.
    ///
    /// - Parameter isHead: Whether this is the response to a HEAD request, which describes the stored content.
    /// - Returns: Nil if the server reported no SHA-256.
    static func isSame(_ response: ResponseHead, as digest: [UInt8], isHead: Bool = false) -> Bool? {
        var named = response.headers["x-amz-checksum-sha256"]
        // `Repr-Digest` covers the stored content only if the response is not itself a representation, such as a
        // page that reports success. `Content-Digest` always covers the response's own body.
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
