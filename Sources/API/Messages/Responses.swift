import ControlProtocol
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Jobs
import NIOCore

extension Response {
    init(_ value: some WireValue, status: HTTPResponse.Status = .ok) {
        self.init(json: value.json.bytes, status: status)
    }

    init(json bytes: [UInt8], status: HTTPResponse.Status = .ok, type: String = "application/json") {
        // JSON ends with a line feed for people who read it in a terminal.
        var buffer = ByteBuffer(bytes: bytes)
        buffer.writeInteger(UInt8(ascii: "\n"))
        self.init(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: buffer))
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

extension ControlProblem {
    var response: Response {
        Response(
            json: json.bytes, status: HTTPResponse.Status(code: status), type: "application/problem+json")
    }
}

extension ResponseBodyWriter {
    mutating func write(line value: some WireValue) async throws {
        var bytes: [UInt8] = []
        value.appendJSON(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
        try await write(ByteBuffer(bytes: bytes))
    }
}
