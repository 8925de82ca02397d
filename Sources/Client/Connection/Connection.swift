import ControlProtocol
import NIOCore
import NIOHTTP1
import NIOPosix

/// One HTTP/1.1 connection to the daemon's socket; it carries one exchange at a time.
protocol ExchangeConnection: Sendable {
    var isOpen: Bool { get }
    /// Sends a call and reads its complete response.
    ///
    /// - Throws: ``ConnectionError/timedOut`` at `giveUpAt`, or the error that ended the connection.
    func exchange(_ call: Call, until giveUpAt: NIODeadline) async throws -> Answer
    func end()
}

/// A connection on an event loop, which can also carry streams.
struct Connection: ExchangeConnection {
    private let channel: any Channel
    private let parts: NIOLoopBound<ResponseParts>

    static func open(path: String, on group: any EventLoopGroup) async throws -> Connection {
        let (channel, parts) = try await ClientBootstrap(group: group)
            .channelOption(.autoRead, value: false)
            .connectTimeout(.seconds(5))
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let parts = ResponseParts()
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(parts)
                    return (channel, NIOLoopBound(parts, eventLoop: channel.eventLoop))
                }
            }
        return Connection(channel: channel, parts: parts)
    }

    var isOpen: Bool { channel.isActive }

    func exchange(_ call: Call, until giveUpAt: NIODeadline) async throws -> Answer {
        let deadline = setDeadline(at: giveUpAt)
        defer { deadline.cancel() }
        send(call)
        return try await readAnswer()
    }

    /// Sends a complete request and returns at once. Reading the response throws if the sending failed.
    func send(_ call: Call) {
        channel.eventLoop.execute {
            channel.write(HTTPClientRequestPart.head(call.head), promise: nil)
            if let body = call.body {
                channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
            }
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        }
    }

    /// Sends one part and returns when the socket has accepted it. Ends the connection if that takes longer
    /// than `timeout`.
    func send(_ part: HTTPClientRequestPart, within timeout: Duration) async throws {
        let deadline = setDeadline(after: timeout)
        defer { deadline.cancel() }
        try await channel.writeAndFlush(part).get()
    }

    /// - Parameter takesPart: Whether to return a body that ends early, with the reason in ``Answer/failure``.
    func readAnswer(takesPart: Bool = false) async throws -> Answer {
        var response = response
        return try await response.answer(after: try await response.head(), takesPart: takesPart)
    }

    /// A reader for one response. Cancelling the task that reads ends the connection.
    var response: Response { Response(connection: self) }

    struct Response {
        fileprivate let connection: Connection
        private var batch: ResponseParts.Batch = []

        fileprivate init(connection: Connection) { self.connection = connection }

        mutating func next() async throws -> HTTPClientResponsePart {
            if let part = batch.popFirst() { return part }
            batch = try await connection.nextBatch()
            return batch.removeFirst()
        }

        /// Reads the final head and skips informational ones.
        mutating func head() async throws -> HTTPResponseHead {
            while true {
                guard case .head(let head) = try await next() else { continue }
                if head.status.code >= 200 { return head }
            }
        }

        mutating func answer(after head: HTTPResponseHead, takesPart: Bool = false) async throws -> Answer {
            var answer = Answer(status: head.status.code, body: [], database: head.database)
            while true {
                do {
                    switch try await next() {
                    case .body(let part): answer.body.append(contentsOf: part.readableBytesView)
                    case .end:
                        answer.keepsConnection = head.isKeepAlive
                        return answer
                    case .head: throw ConnectionError.closed
                    }
                } catch {
                    guard takesPart else { throw error }
                    answer.failure = error
                    return answer
                }
            }
        }
    }

    private func nextBatch() async throws -> ResponseParts.Batch {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                channel.eventLoop.execute { parts.value.next(continuation) }
            }
        } onCancel: {
            end(with: CancellationError())
        }
    }

    func end() { end(with: ConnectionError.closed) }

    func end(with error: any Error) {
        channel.eventLoop.execute { parts.value.fail(error) }
    }

    /// Ends the connection after `timeout` unless the deadline is cancelled first.
    func setDeadline(after timeout: Duration) -> Deadline { setDeadline(at: .now() + TimeAmount(timeout)) }

    func setDeadline(at moment: NIODeadline) -> Deadline {
        Deadline(channel.eventLoop.scheduleTask(deadline: moment) { parts.value.fail(ConnectionError.timedOut) })
    }

    struct Deadline: Sendable {
        private let task: Scheduled<Void>
        init(_ task: Scheduled<Void>) { self.task = task }
        func cancel() { task.cancel() }
    }
}

extension HTTPResponseHead {
    /// The value of the field that names the daemon's database.
    var database: String? { headers.first(name: DatabaseHeader.name) }
}
