import ControlProtocol
import Jobs
import NIOHTTP1

extension SocketControl {
    public func log(
        _ request: LogRequest
    ) async throws(ControlProblem) -> AsyncThrowingStream<[LogPiece], any Error> {
        var call = Call(.get, "jobs", "\(request.job)", "log")
        if let attempt = request.attempt { call.query.append(("attempt", "\(attempt)")) }
        if let first = request.first { call.query.append(("first_attempt", "\(first)")) }
        if request.offset > 0 { call.query.append(("offset", "\(request.offset)")) }
        if request.follows { call.query.append(("follow", "true")) }
        let (_, body) = try await streamedBody(of: call)
        let lines = StreamedLines(body: body, call: call)
        return AsyncThrowingStream { try await lines.next()?.map { try LogPiece(response: $0) } }
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
}
