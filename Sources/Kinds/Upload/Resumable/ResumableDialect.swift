import NIOHTTP1
import WebSyntax

/// The protocol of a resumable upload. Both protocols do the same with different headers.
enum ResumableDialect: String, Sendable {
    /// tus 1.0.
    case tus
    /// The IETF's draft for resumable uploads.
    case draft = "resumable"

    /// The header that every request carries.
    var version: HTTPHeaders {
        switch self {
        case .tus: ["tus-resumable": "1.0.0"]
        case .draft: ["upload-draft-interop-version": "8"]
        }
    }

    /// The media type of a piece.
    var pieceType: String {
        switch self {
        case .tus: "application/offset+octet-stream"
        case .draft: "application/partial-upload"
        }
    }
}

/// The features and limits that a server announces.
struct ResumableOffer: Sendable {
    /// The extensions of tus that the server supports.
    var extensions: Set<String> = []
    /// The checksum algorithms of tus that the server supports, in its order.
    var checksums: [String] = []
    var knowsDraft = false
    /// The largest upload, in bytes.
    var maxSize: Int64?
    /// The largest piece, in bytes.
    var maxPiece: Int64?

    init() {}

    init(_ headers: HTTPHeaders) {
        extensions = Set(headers[canonicalForm: "tus-extension"].map(\.trimmingSpaces))
        checksums = headers[canonicalForm: "tus-checksum-algorithm"].map { $0.trimmingSpaces.lowercased() }
        maxSize = headers["tus-max-size"].first.flatMap { Int64($0.trimmingSpaces) }
        // A server that supports the draft must send `Accept-Patch` in its response to OPTIONS, and should send
        // `Upload-Limit` if it has limits.
        knowsDraft = headers[canonicalForm: "accept-patch"].contains { type in
            type.prefix { $0 != ";" }.trimmingSpaces.lowercased() == ResumableDialect.draft.pieceType
        }
        for member in headers[canonicalForm: "upload-limit"] {
            knowsDraft = true
            let pair = member.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            guard pair.count == 2, let value = Int64(pair[1]), value >= 0 else { continue }
            switch pair[0] {
            case "max-size": maxSize = value
            case "max-append-size": maxPiece = value
            default: break
            }
        }
    }

    /// Whether the response comes from a server that knows the draft.
    static func isOfDraft(_ headers: HTTPHeaders) -> Bool {
        ["upload-offset", "upload-complete", "upload-limit", "upload-draft-interop-version"].contains {
            headers.contains(name: $0)
        }
    }

    /// Adds the features and limits that a later response announces.
    mutating func merge(_ other: ResumableOffer) {
        maxSize = other.maxSize ?? maxSize
        maxPiece = other.maxPiece ?? maxPiece
        if !other.checksums.isEmpty { checksums = other.checksums }
        extensions.formUnion(other.extensions)
    }

    /// The algorithm for the checksum that is sent with each piece; nil for none.
    var checksum: PieceChecksum? {
        guard extensions.contains("checksum") else { return nil }
        return checksums.lazy.compactMap(PieceChecksum.init(rawValue:)).max { $0.strength < $1.strength }
    }
}

enum PieceChecksum: String, Sendable {
    case sha256, sha1, md5

    var strength: Int { self == .sha256 ? 2 : self == .sha1 ? 1 : 0 }
}
