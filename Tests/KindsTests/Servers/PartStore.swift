import Crypto
import Synchronization

@testable import Kinds

/// A store of S3 that keeps no content.
final class PartStore: Sendable {
    struct State: Sendable {
        var parts: [Int: Int] = [:]
        var isComplete = false
        var refusesChecksums = false
        var losesTheAnswer = false
        /// Of HEAD.
        var isSilentAboutTheObject = false
    }

    let state = Mutex(State())
    /// An MD5, as the store names it.
    static let etag = "\"0123456789abcdef0123456789abcdef\""

    func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Answer {
        state.withLock { state in
            let query = request.target.split(separator: "?").dropFirst().first ?? ""
            let hasChecksum = request.headers.contains { $0.name.hasPrefix("x-amz-checksum") }
            if state.refusesChecksums, hasChecksum {
                return .text("<Error><Code>NotImplemented</Code></Error>", type: "application/xml", status: 501)
            }
            switch (request.method, query) {
            case ("POST", "uploads"):
                return .text("<R><UploadId>u</UploadId></R>", type: "application/xml")
            case ("PUT", ""): return .respond(200, [("etag", Self.etag)])
            case ("PUT", _):
                let number = query.split(separator: "&").first?.split(separator: "=").last.flatMap { Int($0) }
                state.parts[number ?? 0] = request.body.count
                return .respond(200, [("etag", Self.etag)])
            case ("POST", _):
                if state.isComplete {
                    return .text("<Error><Code>NoSuchUpload</Code></Error>", type: "application/xml", status: 404)
                }
                state.isComplete = true
                if state.losesTheAnswer { return .close }
                return .text("<R><ETag>&quot;whole&quot;</ETag></R>", type: "application/xml")
            case ("GET", _) where state.isComplete:
                return .text("<Error><Code>NoSuchUpload</Code></Error>", type: "application/xml", status: 404)
            case ("HEAD", _) where state.isSilentAboutTheObject: return .respond(403)
            case ("HEAD", _): return .respond(200, [("etag", Self.whole(state.parts.count))])
            default: return .respond(405)
            }
        }
    }

    /// The ETag of an object of so many parts.
    static func whole(_ count: Int) -> String {
        let part: [UInt8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]
        let bytes = (0..<count).flatMap { _ in part + part }
        return "\"\(Insecure.MD5.hash(data: bytes).hexadecimal)-\(count)\""
    }
}
