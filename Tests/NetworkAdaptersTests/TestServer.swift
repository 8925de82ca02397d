import Dispatch
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Signals
import Synchronization

/// A loopback web server whose responses the test chooses.
final class TestServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        var body: [UInt8]
    }

    enum Answer: Sendable {
        case respond(Int, type: String = "application/json", body: [UInt8] = [])
        case redirect(to: String)
        case hangUp
        /// Sends nothing until the client disconnects.
        case silence

        static func json(_ text: String, status: Int = 200) -> Answer { .respond(status, body: Array(text.utf8)) }
        static func html(_ text: String, status: Int = 200) -> Answer {
            .respond(status, type: "text/html; charset=utf-8", body: Array(text.utf8))
        }
    }

    typealias Handler = @Sendable (Request) -> Answer

    let port: Int
    var base: URL { URL(string: "http://127.0.0.1:\(port)") ?? URL(fileURLWithPath: "/") }
    var requests: [Request] { log.withLock { $0 } }
    /// Sent for every request that gets no response. `abandoned` is sent when its client disconnects.
    let silenced = Signal()
    let abandoned = Signal()

    private let channel: any Channel
    private let log: Mutex<[Request]>

    private init(channel: any Channel, handler: Box) {
        self.channel = channel
        port = channel.localAddress?.port ?? 0
        log = Mutex([])
        handler.server.withLock { $0 = self }
    }

    /// The state that connections share with the server.
    fileprivate final class Box: Sendable {
        let handler: Handler
        let server = Mutex<TestServer?>(nil)
        init(_ handler: @escaping Handler) { self.handler = handler }
    }

    /// Runs `body` with a server that is stopped afterwards.
    static func with<T>(_ handler: @escaping Handler, _ body: (TestServer) async throws -> T) async throws -> T {
        let box = Box(handler)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline().flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(Connection(box))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = TestServer(channel: channel, handler: box)
        let result: Result<T, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        try await channel.close().get()
        box.server.withLock { $0 = nil }
        return try result.get()
    }

    fileprivate func record(_ request: Request) { log.withLock { $0.append(request) } }

    private final class Connection: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let box: Box
        private var request = Request(method: "", path: "", body: [])
        private var isSilent = false

        init(_ box: Box) { self.box = box }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): request = Request(method: head.method.rawValue, path: head.uri, body: [])
            case .body(let buffer): request.body += Array(buffer.readableBytesView)
            case .end: answer(context)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            if isSilent { box.server.withLock { $0 }?.abandoned.send() }
            context.fireChannelInactive()
        }

        private func answer(_ context: ChannelHandlerContext) {
            box.server.withLock { $0 }?.record(request)
            switch box.handler(request) {
            case .respond(let status, let type, let body):
                send(context, status, [("content-type", type)], body)
            case .redirect(let target):
                send(context, 302, [("location", target)], [])
            case .hangUp:
                context.close(promise: nil)
            case .silence:
                isSilent = true
                box.server.withLock { $0 }?.silenced.send()
            }
        }

        private func send(
            _ context: ChannelHandlerContext, _ status: Int, _ headers: [(String, String)], _ body: [UInt8]
        ) {
            var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: .init(headers))
            head.headers.add(name: "content-length", value: "\(body.count)")
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            if request.method != "HEAD" {
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
            }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
