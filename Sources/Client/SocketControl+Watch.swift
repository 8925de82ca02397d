import ControlProtocol
import Jobs
import NIOCore
import NIOHTTP1

extension SocketControl {
    public func watch(
        _ scope: WatchScope
    ) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error> {
        let call =
            switch scope {
            case .job(let id): Call(.get, "jobs", "\(id)", "events")
            case .graph(let id): Call(.get, "graphs", "\(id)", "events")
            case .all: Call(.get, "events")
            }
        let connection: Connection
        do {
            connection = try await pool.takeForStream()
        } catch {
            throw ControlProblem(connecting: error, to: path)
        }
        var response = connection.response
        let refusal: Answer?
        do {
            let deadline = connection.setDeadline(after: timeout)
            defer { deadline.cancel() }
            connection.send(call)
            let head = try await response.head()
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
        let events = EventLines(connection: connection, response: response, call: call)
        return AsyncThrowingStream { try await events.next() }
    }
}

/// Reads one event per line, and only on demand. The connection ends when the stream is released.
private actor EventLines {
    private let connection: Connection
    private var response: Connection.Response
    private let call: Call
    private var buffer = ByteBuffer()
    private var isAtEnd = false

    init(connection: Connection, response: sending Connection.Response, call: Call) {
        self.connection = connection
        self.response = response
        self.call = call
    }

    deinit { connection.end() }

    func next() async throws -> WatchEvent? {
        while !isAtEnd {
            if let line = takeLine() {
                if line.isEmpty { continue }
                let event = try read(line)
                if event == .final { isAtEnd = true }
                return event
            }
            do {
                switch try await nextPart() {
                case .body(var part): buffer.writeBuffer(&part)
                case .end: throw ConnectionError.closed
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

    private func takeLine() -> [UInt8]? {
        guard let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = buffer.readBytes(length: end - buffer.readerIndex)
        buffer.moveReaderIndex(forwardBy: 1)
        buffer.discardReadBytes()
        return line
    }

    /// Parses a line, which contains either an event or the problem that ended the stream.
    private func read(_ line: [UInt8]) throws -> WatchEvent {
        if let problem = try? ControlProblem(json: JSONText(trusted: line)) {  // Decoding an event fails.
            isAtEnd = true
            throw problem
        }
        return try WatchEvent(response: line)
    }
}
