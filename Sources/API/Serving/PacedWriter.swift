import HummingbirdCore
import HTTPTypes
import NIOCore

/// Writes a body as fast as the caller reads it, and closes the connection if the caller reads nothing.
struct PacedWriter: ResponseBodyWriter {
    private static let partBytes = 64 << 10

    private var writer: any ResponseBodyWriter
    private let channel: any Channel
    private let limit: Duration

    /// - Parameter limit: How long the caller may read nothing.
    init(_ writer: any ResponseBodyWriter, on channel: any Channel, limit: Duration) {
        self.writer = writer
        self.channel = channel
        self.limit = limit
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while let part = rest.readSlice(length: min(Self.partBytes, rest.readableBytes)), part.readableBytes > 0 {
            let deadline = deadline()
            defer { deadline.cancel() }
            try await writer.write(part)
            // The writer waits for the caller only after the event loop has handled the previous part.
            try await channel.eventLoop.submit {}.get()
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        let deadline = deadline()
        defer { deadline.cancel() }
        try await writer.finish(trailingHeaders)
    }

    private func deadline() -> Scheduled<Void> {
        let channel = channel
        return channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
    }
}

extension Response {
    /// Returns a copy that is written with a ``PacedWriter``.
    func paced(on channel: any Channel, limit: Duration) -> Response {
        var response = self
        let body = body
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(PacedWriter(writer, on: channel, limit: limit))
        }
        return response
    }
}
