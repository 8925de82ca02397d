import Crypto
import FoundationEssentials
import Glibc
import NIOHTTP1
import Pages
import WebSyntax

/// AWS Signature Version 4, with the signature in the `Authorization` header.
struct S3Signature: Sendable {
    var accessKey: String
    var secretKey: String
    var sessionToken: String?
    var region: String
    var service = "s3"

    /// Parses a credential: `ACCESS:SECRET`, or `ACCESS:SECRET:TOKEN`. Returns nil for any other text.
    init?(secret: String, region: String) {
        let parts = secret.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        (accessKey, secretKey, self.region) = (parts[0], parts[1], region)
        sessionToken = parts.count == 3 && !parts[2].isEmpty ? parts[2] : nil
    }

    static let usualRegion = "us-east-1"

    /// Signs a request with the current time. Returns the headers, including the signature.
    func sign(_ request: UploadRequest) -> HTTPHeaders {
        let digest =
            switch request.content {
            case .bytes(let bytes): Array(SHA256.hash(data: bytes))
            case .piece: request.sha256 ?? []
            }
        return sign(request.method, request.url, headers: request.headers, payload: digest.hexadecimal)
    }

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - payload: The SHA-256 of the body, in hexadecimal.
    ///   - moment: The time of the request, in the form `20130524T000000Z`. Default: now.
    /// - Returns: The headers, including the signature.
    func sign(
        _ method: HTTPMethod, _ url: WebURL, headers: HTTPHeaders, payload: String,
        moment: String = moment(secondsSince1970: Int64(time(nil)))
    ) -> HTTPHeaders {
        var headers = headers
        headers.replaceOrAdd(name: "host", value: "\(url.host)" + (url.explicitPort.map { ":\($0)" } ?? ""))
        headers.replaceOrAdd(name: "x-amz-date", value: moment)
        headers.replaceOrAdd(name: "x-amz-content-sha256", value: payload)
        if let sessionToken { headers.replaceOrAdd(name: "x-amz-security-token", value: sessionToken) }

        var canonical: [String: String] = [:]
        for (name, value) in headers {
            let name = name.lowercased()
            // Proxies may change these headers, so they are not signed.
            if ["accept", "user-agent", "accept-encoding", "content-length"].contains(name) { continue }
            canonical[name] = canonical[name].map { $0 + "," + value.tidied } ?? value.tidied
        }
        let names = canonical.keys.sorted()
        let signed = names.joined(separator: ";")
        let request = [
            method.rawValue, Self.path(url), Self.query(url), names.map { "\($0):\(canonical[$0] ?? "")\n" }.joined(),
            signed, payload,
        ].joined(separator: "\n")
        let scope = "\(moment.prefix(8))/\(region)/\(service)/aws4_request"
        let text = ["AWS4-HMAC-SHA256", moment, scope, SHA256.hash(data: Data(request.utf8)).hexadecimal].joined(
            separator: "\n")
        var key = SymmetricKey(data: Data("AWS4\(secretKey)".utf8))
        for part in [String(moment.prefix(8)), region, service, "aws4_request"] {
            key = SymmetricKey(data: Data(HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key)))
        }
        let signature = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key).hexadecimal
        headers.replaceOrAdd(
            name: "authorization",
            value: "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope),SignedHeaders=\(signed),Signature=\(signature)")
        return headers
    }

    /// The path, percent-encoded once as S3 requires it: every byte of a segment that is not an unreserved character is
    /// encoded.
    private static func path(_ url: WebURL) -> String {
        encoded(PercentEncoding.decode(Array(url.path.utf8)[...]), keepingSlashes: true)
    }

    private static func query(_ url: WebURL) -> String {
        let pairs = (url.query ?? "").split(separator: "&").map { pair -> (String, String) in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let (name, value) = (parts[0], parts.count == 2 ? parts[1] : "")
            return (
                encoded(PercentEncoding.decode(Array(name.utf8)[...]), keepingSlashes: false),
                encoded(PercentEncoding.decode(Array(value.utf8)[...]), keepingSlashes: false)
            )
        }
        return pairs.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    static func encoded(_ bytes: [UInt8], keepingSlashes: Bool) -> String {
        var output = ""
        for byte in bytes {
            let isUnreserved =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-._~".utf8.contains(byte)
            if isUnreserved || keepingSlashes && byte == UInt8(ascii: "/") {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += "%" + CollectionOfOne(byte).hexadecimal.uppercased()
            }
        }
        return output
    }

    /// Formats a time as the signature requires it: `20130524T000000Z`.
    static func moment(secondsSince1970 seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds))
            .formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
    }
}

extension WebURL {
    /// Returns the URL with these fields added to its query, encoded as S3 requires it.
    func adding(_ query: [String: String]) -> WebURL {
        var url = self
        let pairs = query.sorted { $0.key < $1.key }.map { name, value in
            value.isEmpty ? name : "\(name)=\(S3Signature.encoded(Array(value.utf8), keepingSlashes: false))"
        }
        url.query = ([url.query].compactMap { $0 } + pairs).joined(separator: "&")
        return url
    }
}
