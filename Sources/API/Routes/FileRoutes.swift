import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Jobs
import NIOCore

/// Serves the logs and the files of jobs, as fast as the caller reads them.
struct FileRoutes: Sendable {
    let control: any JobControl
    let memory: AnswerMemory
    let limits: ServerLimits
    let stop: StopSignal

    /// The memory reserved for entries or content that the caller has not read yet.
    private static let streamBytes = 256 << 10

    func add(to routes: inout RouteTable) {
        routes.on(.get, "jobs/{job}/log") { request, context in
            let read = RouteRequest(request, context)
            return try await log(LogRequest(read), request, context)
        }
        routes.on(.get, "jobs/{job}/file") { request, context in
            try await file(of: RouteRequest(request, context).job(), context)
        }
    }

    /// Streams entries until the end of the log. A stream that follows a log waits for a slow caller like a stream of
    /// events; any other stream ends if the caller reads nothing for ``ServerLimits/reading``.
    private func log(_ wanted: LogRequest, _ request: Request, _ context: ControlContext) async throws -> Response {
        guard let room = memory.take(Self.streamBytes, for: context.user) else { throw AnswerMemory.full }
        let pieces = try await control.log(wanted)
        let response = Response.lines { writer in
            defer { room.release() }
            let lines = LogLineWriter(writer)
            do {
                try await context.untilClosed(request, stop) {
                    for try await list in pieces { try await lines.write(list) }
                }
            } catch let problem as ControlProblem {
                try await writer.write(line: problem)
            }
        }
        return (wanted.follows ? response : response.paced(on: context.channel, limit: limits.reading))
            .lastOfItsConnection
    }

    /// Streams the content, with its digest in `Repr-Digest` (RFC 9530) and its name in `Content-Disposition`. A body that
    /// ends early means that the content could not be read.
    private func file(of job: JobID, _ context: ControlContext) async throws -> Response {
        guard let room = memory.take(Self.streamBytes, for: context.user) else { throw AnswerMemory.full }
        let content = try await control.file(of: job)
        var response = Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream", .cacheControl: "no-store",
                .reprDigest: FileHeaders.digest(content.file.sha256),
                .contentDisposition: FileHeaders.disposition(content.file.name),
            ],
            body: ResponseBody(contentLength: Int(content.file.size)) { writer in
                defer { room.release() }
                var writer = writer
                for try await chunk in content.chunks { try await writer.write(ByteBuffer(bytes: chunk)) }
                try await writer.finish(nil)
            })
        response = response.paced(on: context.channel, limit: limits.reading)
        return response
    }
}

/// Lets the task that waits for entries write them.
///
/// SAFETY: The parent task passes the writer to a child, waits until the child has ended, and only then writes
/// again.
private final class LogLineWriter: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ pieces: [LogPiece]) async throws {
        var bytes: [UInt8] = []
        for piece in pieces { bytes += piece.json.line }
        try await writer.write(ByteBuffer(bytes: bytes))
    }
}

extension HTTPField.Name {
    static let reprDigest = HTTPField.Name(FileHeaders.digestName)!
}
