import Crypto
import Foundation
import Servers
import Synchronization

@testable import Kinds

/// An in-memory server for both resumable upload protocols that can break connections at a chosen byte.
final class ResumableServer: Sendable {
    struct State: Sendable {
        var stored: [UInt8] = []
        var length: Int?
        var isComplete = false
        var creations = 0
        /// Number of content bytes received; repeated bytes count each time.
        var received = 0
        /// The connection breaks once when this many bytes are stored.
        var breakAt: Int?
        /// Status sent once instead of handling the next PATCH.
        var nextPatchStatus: Int?
        var isForgotten = false
        /// Whether the server supports tus checksums and refuses a wrong one.
        var knowsChecksums = false
        /// Whether the first byte of the next piece is corrupted on arrival.
        var damagesNextPiece = false
        /// Value of `upload-limit` (draft only).
        var limit: String?
        /// Value of `repr-digest` in the response that completes an upload.
        var digest: String?
        /// Whether the server stores only the first half of each piece.
        var keepsHalf = false
        /// Whether the response to a piece contains the offset, which the draft does not require.
        var namesOffset = true
        /// Whether the response to a piece says that the upload is complete (draft only).
        var namesCompletion = true
        /// Status of the response that completes an upload.
        var finalStatus = 204
    }

    let state = Mutex(State())

    func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Answer {
        state.withLock { state in
            let isTus = request.header("tus-resumable") != nil
            let offset = ("upload-offset", "\(state.stored.count)")
            switch request.method {
            case "OPTIONS":
                let checksums =
                    state.knowsChecksums
                    ? [("tus-extension", "checksum"), ("tus-checksum-algorithm", "sha1, sha256")] : []
                return .respond(
                    204, [("tus-resumable", "1.0.0"), ("tus-extension", "creation,termination")] + checksums)
            case "DELETE":
                state.isForgotten = true
                return .respond(204)
            case "POST":
                state.creations += 1
                state.isForgotten = false
                state.stored = []
                state.length = request.header("upload-length").flatMap { Int($0) }
                let limit = state.limit.map { [("upload-limit", $0)] } ?? []
                return .respond(201, [("location", "/files/1"), offset] + limit)
            case "HEAD":
                if state.isForgotten { return .respond(410) }
                return .respond(isTus ? 200 : 204, [offset, ("upload-complete", state.isComplete ? "?1" : "?0")])
            case "PATCH":
                if state.isForgotten { return .respond(404) }
                if let status = state.nextPatchStatus {
                    state.nextPatchStatus = nil
                    return .respond(status)
                }
                guard request.header("upload-offset") == "\(state.stored.count)" else { return .respond(409, [offset]) }
                state.received += request.body.count
                var body = request.body
                if state.damagesNextPiece, !body.isEmpty {
                    body[0] ^= 1
                    state.damagesNextPiece = false
                }
                if !isTus {
                    let sum = "sha-256=:\(Data(SHA256.hash(data: body)).base64EncodedString()):"
                    guard request.header("content-digest") == sum else { return .respond(400) }
                } else if state.knowsChecksums {
                    let sum = "sha256 " + Data(SHA256.hash(data: body)).base64EncodedString()
                    guard request.header("upload-checksum") == sum else { return .respond(460) }
                }
                state.stored += state.keepsHalf ? body.prefix(body.count / 2) : body[...]
                let isWhole = state.stored.count == state.length
                state.isComplete = isTus ? isWhole : isWhole && request.header("upload-complete") == "?1"
                var headers: [(String, String)] = []
                if state.namesOffset { headers.append(("upload-offset", "\(state.stored.count)")) }
                if !isTus, state.namesCompletion { headers.append(("upload-complete", state.isComplete ? "?1" : "?0")) }
                if state.isComplete, let digest = state.digest { headers.append(("repr-digest", digest)) }
                return .respond(state.isComplete ? state.finalStatus : 204, headers)
            default: return .respond(405)
            }
        }
    }

    /// Stores the received bytes and drops the connection, once.
    func interrupts(_ request: LoopbackServer.Request) -> Bool {
        state.withLock { state in
            guard request.method == "PATCH", let limit = state.breakAt, state.stored.count + request.body.count >= limit
            else { return false }
            state.received += request.body.count
            state.stored += request.body
            state.breakAt = nil
            return true
        }
    }
}
