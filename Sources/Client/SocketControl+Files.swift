import ControlProtocol
import Jobs
import NIOCore
import NIOHTTP1

extension SocketControl {
    public func log(
        _ request: LogRequest
    ) async throws(ControlProblem) -> AsyncThrowingStream<[LogPiece], any Error> {
        var call = Call(.get, "jobs", "\(request.job)", "log")
        if let attempt = request.attempt { call.query.append(("attempt", "\(attempt)")) }
        if request.offset > 0 { call.query.append(("offset", "\(request.offset)")) }
        if request.follows { call.query.append(("follow", "true")) }
        let (_, body) = try await streamedBody(of: call)
        let lines = LogLines(body: body, call: call)
        return AsyncThrowingStream { try await lines.next() }
    }

    public func file(of job: JobID) async throws(ControlProblem) -> FileContent {
        let call = Call(.get, "jobs", "\(job)", "file")
        let (head, body) = try await streamedBody(of: call)
        guard let name = head.headers.first(name: FileHeaders.dispositionName).flatMap(FileHeaders.name),
            let sha256 = head.headers.first(name: FileHeaders.digestName).flatMap(FileHeaders.sha256),
            let size = head.headers.first(name: "Content-Length").flatMap({ Int64($0) })
        else {
            throw ControlProblem(
                .internal, "The daemon's response is invalid. Use halyard and halyardd of the same release.")
        }
        return FileContent(
            file: FileReport(name: name, size: size, sha256: sha256),
            chunks: AsyncThrowingStream { try await body.next() })
    }

    /// Sends a call whose response is a stream, and reads the head of the response.
    private func streamedBody(
        of call: Call
    ) async throws(ControlProblem) -> (head: HTTPResponseHead, body: StreamedBody) {
        let connection: Connection
        do {
            connection = try await pool.takeForStream()
        } catch {
            throw ControlProblem(connecting: error, to: path)
        }
        var response = connection.response
        let head: HTTPResponseHead
        let refusal: Answer?
        do {
            let deadline = connection.setDeadline(after: timeout)
            defer { deadline.cancel() }
            connection.send(call)
            head = try await response.head()
            readDatabase(from: head.database)
            refusal = head.status == .ok ? nil : try await response.answer(after: head)
        } catch {
            connection.end()
            throw ControlProblem(during: call, error: error)
        }
        if let refusal {
            connection.end()
            throw refusal.problem
        }
        return (head, StreamedBody(connection: connection, response: response, call: call))
    }
}

/// The body of a response, read on demand. The connection ends when the body is released.
private actor StreamedBody {
    private let connection: Connection
    private var response: Connection.Response
    private let call: Call
    private var isAtEnd = false

    init(connection: Connection, response: sending Connection.Response, call: Call) {
        self.connection = connection
        self.response = response
        self.call = call
    }

    deinit { connection.end() }

    /// Returns the bytes that have arrived, at least one; nil at the end.
    func next() async throws -> [UInt8]? {
        while !isAtEnd {
            do {
                switch try await nextPart() {
                case .body(let part): if part.readableBytes > 0 { return Array(part.readableBytesView) }
                case .end: isAtEnd = true
                case .head: continue
                }
            } catch {
                isAtEnd = true
                if error is CancellationError { throw error }
                throw ControlProblem(during: call, error: error)
            }
        }
        connection.end()
        return nil
    }

    private func nextPart() async throws -> HTTPClientResponsePart {
        // Only one caller reads at a time, so the copy cannot miss another caller's changes.
        var response = response
        defer { self.response = response }
        return try await response.next()
    }
}

/// Reads the entries of a log, all complete lines that have arrived at a time.
private actor LogLines {
    private let body: StreamedBody
    private let call: Call
    private var rest: [UInt8] = []

    init(body: StreamedBody, call: Call) {
        self.body = body
        self.call = call
    }

    func next() async throws -> [LogPiece]? {
        while let bytes = try await body.next() {
            rest += bytes
            guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            let lines = rest[..<end].split(separator: UInt8(ascii: "\n"))
            rest.removeFirst(end + 1)
            return try lines.map { line in
                let line = Array(line)
                // Decoding an entry fails.
                if let problem = try? ControlProblem(json: JSONText(trusted: line)) { throw problem }
                return try LogPiece(response: line)
            }
        }
        guard rest.isEmpty else { throw ControlProblem(during: call, error: ConnectionError.closed) }
        return nil
    }
}
