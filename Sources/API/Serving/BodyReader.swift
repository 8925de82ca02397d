import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Jobs
import NIOCore
import Synchronization

/// Reads a request's body once, within limits, and records whether the whole body was read.
final class BodyReader: Sendable {
    private let body: RequestBody
    private let limit: Duration
    private let deadlines: BodyDeadlines
    private let channel: any Channel
    private let bigBodies: Permits
    private let permit = Mutex<Permits.Permit?>(nil)
    private let ended: Mutex<Bool>
    private let readWithAnswer = Mutex(false)
    /// The announced length in bytes; nil if the caller announced none.
    let length: Int64?
    let request: Request

    /// - Parameter limit: The time limit that `deadlines` apply to a body; used only in messages.
    init(
        _ request: Request, on channel: any Channel, limit: Duration, deadlines: BodyDeadlines, bigBodies: Permits
    ) {
        self.request = request
        self.channel = channel
        body = request.body
        self.limit = limit
        self.deadlines = deadlines
        self.bigBodies = bigBodies
        length = request.headers[.contentLength].flatMap { Int64($0) }
        ended = Mutex((length ?? 0) == 0 && request.headers[.transferEncoding] == nil)
    }

    var hasEnded: Bool { ended.withLock(\.self) }
    /// Whether the body is read while the answer is written.
    var isReadWithAnswer: Bool { readWithAnswer.withLock(\.self) }
    func willBeReadWithAnswer() { readWithAnswer.withLock { $0 = true } }

    /// The body in chunks, as they arrive.
    var chunks: Chunks { Chunks(reader: self) }

    struct Chunks: AsyncSequence, Sendable {
        fileprivate let reader: BodyReader

        func makeAsyncIterator() -> Iterator { Iterator(reader: reader, body: reader.body.makeAsyncIterator()) }

        struct Iterator: AsyncIteratorProtocol {
            fileprivate let reader: BodyReader
            fileprivate var body: RequestBody.AsyncIterator

            mutating func next() async throws -> [UInt8]? {
                if let chunk = try await body.next() { return Array(chunk.readableBytesView) }
                reader.ended.withLock { $0 = true }
                return nil
            }
        }
    }

    /// Reads the whole body. Refuses a body that is too large or does not arrive in time, without reading it to
    /// its end.
    func collect(limit: Int) async throws(ControlProblem) -> [UInt8] {
        if let length, length > limit { throw Self.tooLarge(limit) }
        if hasEnded { return [] }
        let id = deadlines.begin(channel)
        do {
            let bytes = try await collectWithoutDeadline(limit: limit)
            if deadlines.end(id) { throw late }
            if let length, length != bytes.count {
                throw ControlProblem(.invalidRequest, "The body ended early. Send it again.")
            }
            return bytes
        } catch let problem as ControlProblem {
            _ = deadlines.end(id)
            throw problem
        } catch {
            // The deadline ends the body with an error.
            if deadlines.end(id) { throw late }
            throw ControlProblem(.invalidRequest, "The body is incomplete (\(error)). Send it again.")
        }
    }

    private func collectWithoutDeadline(limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        var isBig = false
        for try await chunk in chunks {
            guard bytes.count + chunk.count <= limit else { throw Self.tooLarge(limit) }
            if !isBig, bytes.count + chunk.count > JSONText.maxBytes {
                guard let permit = bigBodies.take() else { throw Self.busy }
                self.permit.withLock { $0 = permit }
                isBig = true
            }
            bytes += chunk
        }
        return bytes
    }

    /// Releases the permit for a large body. Call it when the body is no longer in memory.
    func releasePermit() { permit.withLock { $0 = nil } }

    private var late: ControlProblem {
        ControlProblem(.invalidRequest, "The body was not complete within \(limit.human). Send it again.")
    }

    private static let busy = ControlProblem(
        .unavailable, "Other large requests are being carried out. Try again in a moment.")

    private static func tooLarge(_ limit: Int) -> ControlProblem {
        ControlProblem(.tooLarge, "The body exceeds the limit of \(limit) bytes. Send less at once.")
    }
}
