import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Jobs
import NIOCore

extension Response {
    init(bytes: [UInt8], status: HTTPResponse.Status = .ok, type: String = "application/json") {
        self.init(
            status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static let done = Response(status: .noContent)

    /// Creates a response with a body of JSON lines that ends when `write` returns.
    static func lines(
        _ write: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                try await write(&writer)
                try await writer.finish(nil)
            })
    }
}

extension Response {
    /// The response with `Connection: close`. Watching for the peer's close consumed the connection's input, so
    /// the connection cannot be reused.
    var lastOfItsConnection: Response {
        var response = self
        response.headers[.connection] = "close"
        return response
    }
}

extension ControlProblem {
    var response: Response {
        var response = Response(
            bytes: json.line, status: HTTPResponse.Status(code: status), type: "application/problem+json")
        // The cause may pass in a moment, or last longer: a second keeps callers from asking without a pause.
        if status == 503 { response.headers[.retryAfter] = "1" }
        return response
    }
}

extension ResponseBodyWriter {
    mutating func write(line value: some WireValue) async throws {
        try await write(ByteBuffer(bytes: value.json.line))
    }
}

extension JSONText {
    /// The text with a line feed, for people who read it in a terminal.
    var line: [UInt8] { bytes + [UInt8(ascii: "\n")] }
}
