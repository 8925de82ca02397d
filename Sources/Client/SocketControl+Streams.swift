import ControlProtocol
import Jobs
import NIOCore
import NIOHTTP1

extension SocketControl {
    /// Sends a call whose response is a stream, and reads the head of the response.
    func streamedBody(
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
actor StreamedBody {
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

/// The lines of a streamed response, read on demand.
actor StreamedLines {
    private let body: StreamedBody
    private let call: Call
    private var rest: [UInt8] = []
    /// The problem that ended the stream, thrown after the lines before it.
    private var problem: ControlProblem?

    init(body: StreamedBody, call: Call) {
        self.body = body
        self.call = call
    }

    /// Returns the complete lines that have arrived, at least one; nil at the end.
    ///
    /// - Throws: ``ControlProblem``, also one that a line contains.
    func next() async throws -> [[UInt8]]? {
        if let problem { throw problem }
        while let bytes = try await body.next() {
            rest += bytes
            guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            var lines = rest[..<end].split(separator: UInt8(ascii: "\n")).map(Array.init)
            rest.removeFirst(end + 1)
            // An ordinary line never decodes as a problem.
            if let last = lines.last, let problem = try? ControlProblem(json: JSONText(trusted: last)) {
                lines.removeLast()
                if lines.isEmpty { throw problem }
                self.problem = problem
            }
            if !lines.isEmpty { return lines }
        }
        guard rest.isEmpty else { throw ControlProblem(during: call, error: ConnectionError.closed) }
        return nil
    }
}
