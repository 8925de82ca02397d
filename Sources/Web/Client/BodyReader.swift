import Decompression
import NIOCore
import NIOHTTP1
import WebSyntax

/// A response body after its content codings have been decoded.
package struct DecodedBody: Sendable {
    package var bytes: [UInt8]
    /// Whether `bytes` is only the beginning of the body: a limit was reached, the coding was damaged, or the
    /// connection was lost.
    package var isTruncated: Bool
    /// The failure that cut the body off, if the connection ended first.
    package var interruption: KindFailure?
}

extension OutgoingResponse {
    /// The value of `Accept-Encoding` for requests whose response is read with
    /// ``readDecoded(upTo:received:keepsPart:until:)``.
    package static let acceptedCodings = "gzip, deflate, br, zstd"

    /// Reads the body until it ends, `limit` decoded or `received` encoded bytes have been read, or `isEnough` returns
    /// true for the bytes decoded so far.
    ///
    /// A larger body is truncated and is not an error. If the content coding is damaged or ends too early, the result
    /// is the part before the damage.
    ///
    /// - Parameter keepsPart: Whether to return the received part if the connection ends before the body does, since
    ///   some servers announce wrong lengths. Default: false, and the call throws.
    /// - Throws: `protocol_error` for a content coding that was not offered, and for damage before the first decoded
    ///   byte; also the failure of the connection, and whatever `isEnough` throws.
    package func readDecoded(
        upTo limit: Int, received: Int, keepsPart: Bool = false,
        until isEnough: ([UInt8]) async throws(KindFailure) -> Bool = { _ in false }
    ) async throws(KindFailure) -> DecodedBody {
        var body = DecodedBody(bytes: [], isTruncated: false)
        do throws(KindFailure) {
            try await read(into: &body, upTo: limit, received: received, until: isEnough)
        } catch {
            guard keepsPart, error.reason == .connectionLost, !body.bytes.isEmpty else { throw error }
            body.isTruncated = true
            body.interruption = error
        }
        return body
    }

    private func read(
        into body: inout DecodedBody, upTo limit: Int, received: Int,
        until isEnough: ([UInt8]) async throws(KindFailure) -> Bool
    ) async throws(KindFailure) {
        var decoders = try contentDecoders()
        var taken = 0
        var isFirst = true
        try await forEachPiece { piece async throws(KindFailure) in
            taken += piece.readableBytes
            // Some servers declare gzip and send the page uncompressed.
            if isFirst, decoders.first is InflateDecoder,
                head.headers["content-encoding"].first?.lowercased().contains("gzip") == true,
                !piece.readableBytesView.starts(with: [0x1F]), piece.readableBytes > 0
            {
                decoders = []
            }
            isFirst = false
            var isOpen = true
            do throws(DecompressionProblem) {
                isOpen = try Self.decode(piece, with: decoders, into: &body.bytes, limit: limit)
            } catch {
                if body.bytes.isEmpty {
                    throw KindFailure(
                        .protocolError, at: head.url,
                        "the body does not match its Content-Encoding; the server must be fixed.")
                }
                body.isTruncated = true
                return false
            }
            if body.bytes.count >= limit || taken >= received {
                body.isTruncated = true
                return false
            }
            return if isOpen { !(try await isEnough(body.bytes)) } else { false }
        }
    }

    private static func decode(
        _ piece: ByteBuffer, with decoders: [any ContentDecoder], into output: inout [UInt8], limit: Int
    ) throws(DecompressionProblem) -> Bool {
        guard let last = decoders.last else {
            output.append(contentsOf: piece.readableBytesView.prefix(limit - output.count))
            return true
        }
        var isOpen = true
        var input = Array(piece.readableBytesView)
        for decoder in decoders.dropLast() {
            var next: [UInt8] = []
            isOpen = try input.decoded(by: decoder, into: &next, limit: limit) && isOpen
            input = next
        }
        return try input.decoded(by: last, into: &output, limit: limit) && isOpen
    }

    /// Codings of the IANA registry that this client cannot decode, and `lz4`.
    private static let registeredCodings: Set<String> = [
        "aes128gcm", "compress", "dcb", "dcz", "exi", "lz4", "pack200-gzip", "x-compress",
    ]

    private func contentDecoders() throws(KindFailure) -> [any ContentDecoder] {
        let codings = head.headers[canonicalForm: "content-encoding"].map { $0.lowercased() }.filter {
            !$0.isEmpty && $0 != "identity"
        }
        var decoders: [any ContentDecoder] = []
        for coding in codings.reversed() {
            switch coding {
            case "gzip", "x-gzip": decoders.append(InflateDecoder(gzip: true))
            case "deflate": decoders.append(InflateDecoder(gzip: false))
            case "br": decoders.append(BrotliDecoder())
            case "zstd": decoders.append(ZstandardDecoder())
            // A value that is not a coding (`none`, `utf-8`) is ignored, as in browsers.
            case let other where !Self.registeredCodings.contains(other): continue
            default:
                throw KindFailure(
                    .protocolError, at: head.url,
                    "the server used a content coding that the request does not accept; the server must be fixed.")
            }
        }
        guard decoders.count <= 2 else {
            throw KindFailure(
                .protocolError, at: head.url, "the body has more than 2 content codings; the server must be fixed.")
        }
        return decoders
    }
}

extension [UInt8] {
    fileprivate func decoded(
        by decoder: any ContentDecoder, into output: inout [UInt8], limit: Int
    ) throws(DecompressionProblem) -> Bool {
        let result = withUnsafeBytes { bytes in
            Result { () throws(DecompressionProblem) in try decoder.decode(bytes, into: &output, limit: limit) }
        }
        return try result.get()
    }
}
