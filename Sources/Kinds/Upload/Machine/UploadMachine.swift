import NIOHTTP1
import Web
import WebSyntax

/// Decides the steps of an upload that can be resumed. It turns events into steps, without a clock and without I/O.
///
/// ``UploadDriver`` performs the steps in order. A `send` or a `read` leads to exactly one event. Several sends may be
/// in flight, but only one read.
protocol UploadMachine: Sendable {
    /// Why a request is sent. The response is interpreted by it.
    associatedtype Purpose: Sendable
    /// Why a range of the source is read.
    associatedtype ReadPurpose: Sendable
    typealias Step = UploadStep<Purpose, ReadPurpose>

    /// - Parameter saved: The progress of an earlier attempt with the same source; nil to start from the beginning.
    mutating func begin(from saved: Checkpoint?) throws(KindFailure) -> [Step]

    /// A request was answered, or its response was lost. A thrown failure ends the upload, unless the request may be
    /// repeated.
    mutating func answered(
        _ answer: UploadAnswer, to request: UploadRequest, for purpose: Purpose
    ) throws(KindFailure) -> [Step]

    /// A range of the source was read.
    mutating func read(_ digests: SourceDigests, for purpose: ReadPurpose) throws(KindFailure) -> [Step]
}

extension UploadMachine {
    /// Like `answered`, but repeats the request after a failure that a retry may solve.
    mutating func next(
        after answer: UploadAnswer, to request: UploadRequest, for purpose: Purpose
    ) throws(KindFailure) -> [Step] {
        do throws(KindFailure) { return try answered(answer, to: request, for: purpose) } catch {
            guard let again = request.repeated(after: error) else { throw error }
            return [.send(again, purpose)]
        }
    }
}

/// One thing to do for an upload.
enum UploadStep<Purpose: Sendable, ReadPurpose: Sendable>: Sendable {
    case send(UploadRequest, Purpose)
    case read(SourceRead, ReadPurpose)
    /// Saves the checkpoint durably and reports its offset as the progress.
    case save(Checkpoint)
    /// Removes the checkpoint, since the server no longer has the upload.
    case forget
    /// Deletes the upload at the server.
    case delete(Checkpoint)
    /// Fails the upload if its digest is not the expected one, or if the source has changed.
    case verify(RunningDigest)
    case finish(Upload.Output)
    /// Fails without repeating the request, even if another attempt of the job may succeed.
    case fail(KindFailure)
    /// The server does not know the protocol: everything is to be sent in one request.
    case sendPlainly
}

/// A request of an upload.
struct UploadRequest: Sendable {
    enum Content: Sendable {
        case bytes([UInt8])
        case piece(Piece)
    }

    /// A range of the source, with bytes before and after it that do not count as content.
    struct Piece: Sendable {
        var range: Range<Int64>
        var prefix: [UInt8] = []
        var suffix: [UInt8] = []
        var bytes: Int64 { range.upperBound - range.lowerBound + Int64(prefix.count + suffix.count) }
    }

    /// The purpose for which a response's body is needed.
    enum BodyUse: Sendable {
        /// The head is enough. The part of the body that arrives in time is kept for the receipt.
        case none
        /// The body of a failure is needed, since it shows what is wrong.
        case failures
        /// Every body is needed, since it shows whether the request succeeded and how to continue.
        case all

        func needsBody(of response: ResponseHead) -> Bool {
            switch self {
            case .none: false
            case .failures: !response.isSuccess
            case .all: true
            }
        }
    }

    var method: HTTPMethod
    var url: WebURL
    var headers: HTTPHeaders
    var content = Content.bytes([])
    /// The purpose for which the response's body is needed. A body that is not needed is empty in the reply, and losing
    /// it is harmless.
    var bodyUse = BodyUse.none
    /// The SHA-256 of a piece, which the signature of S3 covers.
    var sha256: [UInt8]?
    /// The digest of the source before the piece, which sending extends; nil if no digest is needed.
    var digest: RunningDigest?
    /// Whether the position in the source is the progress of the upload. False for parts that are sent in parallel.
    var reportsProgress = true
    /// Whether redirects with status 307 and 308 are followed.
    var followsRedirects = false
    var retries = Retries()
    /// How long to wait before the request is sent.
    var wait = Duration.zero

    init(_ method: HTTPMethod, _ url: WebURL, _ headers: HTTPHeaders) {
        (self.method, self.url, self.headers) = (method, url, headers)
    }

    /// Returns the request as it is sent again after a failure; nil if the failure is final.
    func repeated(after failure: KindFailure) -> UploadRequest? {
        var again = self
        guard let wait = again.retries.wait(after: failure) else { return nil }
        again.wait = wait
        return again
    }
}

/// The retries of one step: at most three, after 250 ms, 500 ms and 1 s.
///
/// If the server asks for a wait of up to five seconds, the wait is that long. If it asks for more, the failure is
/// final, and the job is retried later.
struct Retries: Sendable {
    private var left = 3

    static let none = Retries(left: 0)

    init() {}

    private init(left: Int) { self.left = left }

    /// Returns how long to wait before the next try; nil if the failure is final.
    mutating func wait(after failure: KindFailure) -> Duration? {
        let asked = failure.retryAfter ?? .zero
        guard left > 0, failure.isRetryable, failure.reason != .cancelled, failure.reason != .sourceChanged,
            asked <= .seconds(5)
        else { return nil }
        defer { left -= 1 }
        return max(.milliseconds(1000 >> (left - 1)), asked)
    }
}

/// A response, with its body as far as the request needs it.
struct UploadReply: Sendable {
    let head: ResponseHead
    var body: [UInt8] = []
    /// The part of the body that arrived, even if it was not needed.
    var received = ReceivedBody()
    var status: Int { head.status }
    var headers: HTTPHeaders { head.headers }
}

/// How a request ended.
struct UploadAnswer: Sendable {
    /// The response, or the reason why there is none.
    var result: Result<UploadReply, KindFailure>
    /// The headers of the interim response that named the upload's URL.
    var interim: HTTPHeaders?
    /// The digest of the source up to the last byte that was read for the request.
    var digest: RunningDigest?
    /// When this attempt began, in seconds since 1970 by the clock of the server, or else of this machine.
    var attemptBeganAt: Int64 = 0

    var reply: UploadReply { get throws(KindFailure) { try result.get() } }
}

/// Reads a range of the source without sending it.
struct SourceRead: Sendable {
    var range: Range<Int64>
    /// The algorithm for the digest of the range; nil if it is not needed.
    var algorithm: PieceChecksum?
    /// The digest of the source before the range, which reading extends.
    var digest: RunningDigest?
    /// Whether any change of the file fails the upload: the server received these bytes from an earlier read, and there
    /// is no digest of that read to compare them with.
    var mustBeUntouched = false
}

struct SourceDigests: Sendable {
    /// The digest of the range.
    var range: [UInt8] = []
    /// The digest of the source up to the end of the range.
    var whole: RunningDigest?
}
