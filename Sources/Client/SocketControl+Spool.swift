import ControlProtocol
import Jobs
import NIOCore
import NIOHTTP1

extension SocketControl {
    public func spool<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8] {
        var call = Call(.post, "spool")
        call.contentType = "application/octet-stream"
        return try SpoolAnswer(response: try await upload(call, chunks: chunks, length: size).successBody).file
    }

    /// Sends a body of any size and reads the answer at the same time, so that it notices a refusal at once.
    ///
    /// - Parameters:
    ///   - length: The total size of the chunks in bytes; nil if it is not known.
    ///   - takesPart: Whether to return an answer that ends early, with the reason in ``Answer/failure``.
    func upload<Chunks: AsyncSequence & Sendable>(
        _ call: Call, chunks: Chunks, length: Int64?, takesPart: Bool = false
    ) async throws(ControlProblem) -> Answer where Chunks.Element == [UInt8] {
        let connection: Connection
        do {
            connection = try await pool.takeForStream()
        } catch {
            throw ControlProblem(connecting: error, to: path)
        }
        var head = call.head
        head.headers.remove(name: "Content-Length")
        head.headers.add(name: "Content-Type", value: call.contentType)
        if let length {
            head.headers.add(name: "Content-Length", value: String(length))
        } else {
            head.headers.add(name: "Transfer-Encoding", value: "chunked")
        }
        let requestHead = head
        do {
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await self.write(requestHead, chunks, to: connection) }
                // The daemon may answer before it has read the whole body; the connection is not used again.
                defer { connection.end() }
                let answer = try await connection.readAnswer(takesPart: takesPart)
                group.cancelAll()
                readDatabase(from: answer.database)
                return answer
            }
        } catch let problem as ControlProblem {
            throw problem
        } catch  where takesPart && ConnectionError.isLoss(error) {
            return Answer(status: 0, body: [], failure: error)
        } catch {
            throw ControlProblem(during: call, error: error)
        }
    }

    /// Sends a request. A failure ends the connection, so that the task that reads the answer gets the error.
    private func write<Chunks: AsyncSequence & Sendable>(
        _ head: HTTPRequestHead, _ chunks: Chunks, to connection: Connection
    ) async where Chunks.Element == [UInt8] {
        var iterator = chunks.makeAsyncIterator()
        var part: HTTPClientRequestPart? = .head(head)
        while let next = part {
            do {
                try await connection.send(next, within: timeout)
            } catch {
                // The daemon no longer reads. Its answer, or the end of the connection, gives the reason.
                return
            }
            guard case .end = next else {
                do {
                    let chunk = try await iterator.next()
                    part = chunk.map { .body(.byteBuffer(ByteBuffer(bytes: $0))) } ?? .end(nil)
                } catch {
                    connection.end(with: error)
                    return
                }
                continue
            }
            part = nil
        }
        // From here on the daemon has `timeout` to answer. Nobody cancels this deadline, but it has no effect
        // on a connection that has ended.
        _ = connection.setDeadline(after: timeout)
    }
}
