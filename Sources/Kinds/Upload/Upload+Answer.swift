import FoundationEssentials
import Jobs
import NIOCore
import NIOHTTP1
import Synchronization
import Web
import WebSyntax

extension Upload {
    /// The body of the server's last response: the value if it is JSON, the text of any other text, and only the type
    /// and the length of anything else.
    public struct Answer: Codable, Sendable, Hashable {
        public var contentType: String?
        /// The number of received bytes; only the first ``maxBytes`` are kept.
        public var bytes: Int64
        /// Whether the kept body is incomplete, because it is longer or did not arrive in time.
        public var isTruncated: Bool
        public var json: JSONText?
        public var text: String?
        /// True if nothing is kept because the response repeats the credential; otherwise nil.
        public var isWithheld: Bool?

        /// How many bytes of a body are kept.
        public static let maxBytes = 16 << 10

        enum CodingKeys: String, CodingKey {
            case bytes, json, text
            case contentType = "content_type"
            case isTruncated = "truncated"
            case isWithheld = "withheld"
        }
    }
}

extension Upload.Answer {
    /// Nil if there is no body.
    init?(_ body: ReceivedBody, of response: ResponseHead, concealing secrets: Secrets) {
        guard body.count > 0 else { return nil }
        let type = response.headers["content-type"].first?.printable
        self.init(contentType: type, bytes: body.count, isTruncated: !body.isWhole || body.count > Int64(Self.maxBytes))
        if secrets.appear(in: body.start) {
            isWithheld = true
            return
        }
        let coding = response.headers["content-encoding"].first?.lowercased() ?? "identity"
        guard coding == "identity" else { return }
        let kept = Array(body.start.prefix(Self.maxBytes))
        if !isTruncated, let value = Self.json(kept, type) {
            if secrets.appear(in: value) { isWithheld = true } else { json = value }
        } else {
            text = Self.text(kept, type, isCut: isTruncated)
        }
    }

    private static func json(_ bytes: [UInt8], _ type: String?) -> JSONText? {
        let media = mediaType(type)
        guard media.isEmpty || media == "application/json" || media.hasSuffix("+json") else { return nil }
        // The limit on nesting applies to the whole result, so the value must leave room for the levels around it.
        let deeper = [UInt8](repeating: UInt8(ascii: "["), count: 8) + bytes
        guard (try? JSONText(checking: deeper + [UInt8](repeating: UInt8(ascii: "]"), count: 8))) != nil,
            let value = try? JSONText(checking: bytes),
            // A number may be too large for the result's encoder.
            (try? JSONEncoder().encode([value])) != nil
        else { return nil }
        return value
    }

    /// Returns the body as text; nil if it is not text.
    private static func text(_ bytes: [UInt8], _ type: String?, isCut: Bool) -> String? {
        let media = mediaType(type)
        let isText =
            media.isEmpty || media.hasPrefix("text/") || media == "application/json" || media == "application/xml"
            || media.hasSuffix("+json") || media.hasSuffix("+xml") || media == "application/x-www-form-urlencoded"
        guard isText, !bytes.contains(0) else { return nil }
        // The end of the body may be cut off within a character.
        for cut in 0...(isCut ? min(3, bytes.count) : 0) {
            if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) { return text }
        }
        return nil
    }

    private static func mediaType(_ type: String?) -> String {
        (type ?? "").prefix { $0 != ";" }.trimmingSpaces.lowercased()
    }
}

/// The received part of a body, of which only the start is kept.
struct ReceivedBody: Sendable {
    var start: [UInt8] = []
    var count: Int64 = 0
    var isWhole = false

    /// How many bytes are kept to search them for secrets. This is more than ``Upload/Answer/maxBytes``, so that a
    /// secret across the end of the stored bytes is found.
    static let most = Upload.Answer.maxBytes + (4 << 10)

    init() {}

    init(_ body: DecodedBody) {
        start = Array(body.bytes.prefix(Self.most))
        count = Int64(body.bytes.count)
        isWhole = !body.isTruncated
    }
}

/// A body that is still arriving. If it is not complete in time, the part received so far counts.
final class SharedBody: Sendable {
    private let body = Mutex(ReceivedBody())

    var value: ReceivedBody { body.withLock(\.self) }

    /// - Returns: How many bytes have arrived so far.
    func add(_ piece: ByteBuffer) -> Int64 {
        body.withLock { body in
            body.start += piece.readableBytesView.prefix(max(0, ReceivedBody.most - body.start.count))
            body.count += Int64(piece.readableBytes)
            return body.count
        }
    }

    func end(limit: Int64) { body.withLock { $0.isWhole = $0.count < limit } }
}

extension OutgoingResponse {
    /// Reads up to `limit` bytes, so that the connection can be used again after a short body, and keeps the start.
    func receive(into body: SharedBody, upTo limit: Int64) async {
        do throws(KindFailure) {
            try await forEachPiece { piece throws(KindFailure) in body.add(piece) < limit }
        } catch {
            // Losing the rest of the body is harmless: the head has reported the result of the request.
            return
        }
        body.end(limit: limit)
    }
}
