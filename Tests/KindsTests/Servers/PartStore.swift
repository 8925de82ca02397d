import Crypto
import Foundation
import Servers
import Synchronization

@testable import Kinds

/// An S3 store that keeps no content. It accepts only correctly signed requests.
final class PartStore: Sendable {
    struct State: Sendable {
        var parts: [Int: Int] = [:]
        var isComplete = false
        var refusesChecksums = false
        var losesTheAnswer = false
        /// Number of CreateMultipartUpload requests whose response is lost.
        var lostCreations = 0
        /// Number of multipart uploads created.
        var creations = 0
        /// Entries of ListMultipartUploads besides the uploads created here; nil refuses the request.
        var others: String? = ""
        /// Whether HEAD requests are refused with 403, so that the object's existence is unknown.
        var isSilentAboutTheObject = false
    }

    let state = Mutex(State())
    /// Whether the bucket is in the path instead of the host name.
    let isPathStyle: Bool
    /// An MD5 in quotes, as in the store's headers.
    static let etag = "\"0123456789abcdef0123456789abcdef\""

    init(isPathStyle: Bool = true) { self.isPathStyle = isPathStyle }

    func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Answer {
        guard request.isSigned(with: "secret") else { return Self.refusal(403, "SignatureDoesNotMatch") }
        return state.withLock { state in
            let query = request.target.split(separator: "?").dropFirst().first ?? ""
            let hasChecksum = request.headers.contains { $0.name.hasPrefix("x-amz-checksum") }
            if state.refusesChecksums, hasChecksum { return Self.refusal(501, "NotImplemented") }
            switch (request.method, query) {
            case ("POST", "uploads"):
                // S3 supports `If-None-Match` only in PutObject and CompleteMultipartUpload.
                if request.header("if-none-match") != nil { return Self.refusal(501, "NotImplemented") }
                state.creations += 1
                if state.creations <= state.lostCreations { return .close }
                return .text("<R><UploadId>u\(state.creations)</UploadId></R>", type: "application/xml")
            case ("PUT", ""): return .respond(200, [("etag", Self.etag)])
            case ("PUT", _):
                let number = query.split(separator: "&").first?.split(separator: "=").last.flatMap { Int($0) }
                state.parts[number ?? 0] = request.body.count
                return .respond(200, [("etag", Self.etag)])
            case ("POST", _):
                if state.isComplete { return Self.refusal(404, "NoSuchUpload") }
                state.isComplete = true
                if state.losesTheAnswer { return .close }
                return .text("<R><ETag>&quot;whole&quot;</ETag></R>", type: "application/xml")
            case ("GET", _) where query.hasPrefix("prefix="): return list(request, state)
            case ("GET", _) where state.isComplete: return Self.refusal(404, "NoSuchUpload")
            case ("GET", _) where query.hasSuffix("uploadId=busy"):
                return .text(
                    "<R><Part><PartNumber>1</PartNumber><ETag>e</ETag><Size>1</Size></Part></R>",
                    type: "application/xml")
            case ("GET", _) where query.contains("uploadId="): return .text("<R></R>", type: "application/xml")
            case ("HEAD", _) where state.isSilentAboutTheObject: return .respond(403)
            case ("HEAD", _) where state.isComplete:
                return .respond(200, [("etag", Self.whole(state.parts.count))])
            case ("HEAD", _): return .respond(404)
            default: return .respond(405)
            }
        }
    }

    private func list(_ request: LoopbackServer.Request, _ state: State) -> LoopbackServer.Answer {
        let target = isPathStyle ? "/bucket?prefix=key&uploads" : "/?prefix=folder%2Fkey&uploads"
        guard let others = state.others, request.target == target else {
            return Self.refusal(405, "MethodNotAllowed")
        }
        let key = isPathStyle ? "key" : "folder/key"
        let begun = (1..<state.creations + 1).map { Self.begun(key, "u\($0)", ago: 0) }.joined()
        return .text(
            "<ListMultipartUploadsResult><Prefix>\(key)</Prefix>\(others)\(begun)</ListMultipartUploadsResult>",
            type: "application/xml")
    }

    /// An entry of ListMultipartUploads, begun the given number of seconds ago.
    static func begun(_ key: String, _ id: String, ago seconds: Double) -> String {
        let moment = Date(timeIntervalSinceNow: -seconds).ISO8601Format().replacing("Z", with: ".000Z")
        return "<Upload><Key>\(key)</Key><UploadId>\(id)</UploadId><Initiator><ID>i</ID></Initiator>"
            + "<Initiated>\(moment)</Initiated></Upload>"
    }

    static func refusal(_ status: Int, _ code: String) -> LoopbackServer.Answer {
        .text("<Error><Code>\(code)</Code></Error>", type: "application/xml", status: status)
    }

    /// ETag of an object of `count` parts.
    static func whole(_ count: Int) -> String {
        let part: [UInt8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]
        let bytes = (0..<count).flatMap { _ in part + part }
        return "\"\(Insecure.MD5.hash(data: bytes).hexadecimal)-\(count)\""
    }
}

extension LoopbackServer.Request {
    /// Whether Signature Version 4, computed from the request as received, is correct.
    fileprivate func isSigned(with secret: String) -> Bool {
        func digest(_ bytes: some DataProtocol) -> String { SHA256.hash(data: bytes).hexadecimal }
        func code(_ text: String, _ key: some ContiguousBytes) -> Data {
            Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: key)))
        }
        guard let given = header("authorization"), let date = header("x-amz-date"),
            header("x-amz-content-sha256") == digest(body)
        else { return false }
        var fields: [String: String] = [:]
        for field in given.drop(while: { $0 != " " }).split(separator: ",") {
            let pair = field.drop { $0 == " " }.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { fields[pair[0]] = pair[1] }
        }
        let scope = (fields["Credential"] ?? "").split(separator: "/").dropFirst().map(String.init)
        let names = (fields["SignedHeaders"] ?? "").split(separator: ";").map(String.init)
        guard scope.count == 4, names.contains("host"), names.contains("x-amz-date") else { return false }
        let members = target.split(separator: "?").dropFirst().first?.split(separator: "&") ?? []
        let query = members.map { $0.contains("=") ? "\($0)" : "\($0)=" }.sorted().joined(separator: "&")
        let lines = names.map { name in "\(name):\(header(name) ?? "")\n" }.joined()
        let request = "\(method)\n\(path)\n\(query)\n\(lines)\n\(names.joined(separator: ";"))\n\(digest(body))"
        let text = "AWS4-HMAC-SHA256\n\(date)\n\(scope.joined(separator: "/"))\n\(digest(Data(request.utf8)))"
        let key = scope.reduce(Data("AWS4\(secret)".utf8)) { code($1, $0) }
        return code(text, key).hexadecimal == fields["Signature"]
    }
}
