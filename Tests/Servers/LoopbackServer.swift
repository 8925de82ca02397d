import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A loopback web server whose responses the test chooses, valid or not.
package final class LoopbackServer: Sendable {
    package struct Request: Sendable {
        package var method: String
        package var target: String
        /// Header fields; the names are in lower case.
        package var headers: [(name: String, value: String)]
        package var body: [UInt8]

        package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
        package var path: String { String(target.prefix { $0 != "?" }) }

        fileprivate func with(_ body: ByteBufferView) -> Request {
            var request = self
            request.body = Array(body)
            return request
        }
    }

    package enum Answer: Sendable {
        case respond(Int, [(String, String)] = [], [UInt8] = [])
        /// Sends the bytes unchanged, then closes the connection if `closes` is true.
        case raw([UInt8], closes: Bool)
        case close
        /// Sends nothing and keeps the connection open.
        case silence

        package static var proceed: Answer { .raw(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), closes: false) }

        package static func text(_ text: String, type: String = "text/html; charset=utf-8", status: Int = 200) -> Answer
        {
            .respond(status, [("content-type", type)], Array(text.utf8))
        }

        package static func redirect(_ status: Int, to location: String) -> Answer {
            .respond(status, [("location", location)])
        }
    }

    package typealias Handler = @Sendable (Request) -> Answer
    /// Receives a request whose body is still arriving; returns true to drop the connection.
    package typealias Interruption = @Sendable (Request) -> Bool
    /// Responds to the head of a request with `Expect: 100-continue`: `.respond` sends the final response, `.silence`
    /// nothing.
    package typealias Greeting = @Sendable (Request) -> Answer

    private let channel: any Channel
    private let log = Mutex<[Request]>([])
    private let connectionCount = Mutex(0)
    package let port: Int

    package var requests: [Request] { log.withLock { $0 } }
    package var connections: Int { connectionCount.withLock { $0 } }
    package var origin: String { "http://127.0.0.1:\(port)" }

    private init(channel: any Channel) {
        self.channel = channel
        port = channel.localAddress?.port ?? 0
    }

    /// Runs `body` with a server that is stopped afterwards.
    ///
    /// - Parameters:
    ///   - isEager: Whether `greeting` is called for every head, even if the client does not expect 100.
    ///   - isRaw: Whether the handler is called as soon as any bytes arrive.
    ///   - tls: Nil to speak plain HTTP.
    package static func with<T>(
        _ handler: @escaping Handler, interrupting: Interruption? = nil,
        greeting: @escaping Greeting = { _ in .proceed }, isEager: Bool = false,
        isRaw: Bool = false, tls: NIOSSLContext? = nil, _ body: (LoopbackServer) async throws -> T
    ) async throws -> T {
        let place = Mutex<LoopbackServer?>(nil)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let server = place.withLock { $0 }
                    server?.connectionCount.withLock { $0 += 1 }
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(
                        Talk(
                            handler: handler, interruption: interrupting, greeting: greeting, isEager: isEager,
                            isRaw: isRaw,
                            server: server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = LoopbackServer(channel: channel)
        place.withLock { $0 = server }
        do {
            let result = try await body(server)
            try await channel.close().get()
            place.withLock { $0 = nil }
            return result
        } catch {
            try await channel.close().get()
            place.withLock { $0 = nil }
            throw error
        }
    }

    fileprivate func record(_ request: Request) { log.withLock { $0.append(request) } }

    private final class Talk: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let handler: Handler
        private let interruption: Interruption?
        private let greeting: Greeting
        private let isEager: Bool
        private let isRaw: Bool
        private weak let server: LoopbackServer?
        private var received = ByteBuffer()
        /// The request whose body is arriving.
        private var head: (request: Request, length: Int)?

        init(
            handler: @escaping Handler, interruption: Interruption?, greeting: @escaping Greeting, isEager: Bool,
            isRaw: Bool, server: LoopbackServer?
        ) {
            self.handler = handler
            self.interruption = interruption
            self.greeting = greeting
            self.isEager = isEager
            self.isRaw = isRaw
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
            if isRaw {
                let request = Request(method: "", target: "", headers: [], body: [])
                return answer(handler(request), to: request, context: context)
            }
            while let request = takeRequest(context) {
                server?.record(request)
                answer(handler(request), to: request, context: context)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func takeRequest(_ context: ChannelHandlerContext) -> Request? {
            guard let (request, length) = head ?? takeHead(context) else { return nil }
            head = (request, length)
            guard received.readableBytes >= length else {
                if let interruption, received.readableBytes > 0, interruption(request.with(received.readableBytesView))
                {
                    context.close(promise: nil)
                }
                return nil
            }
            head = nil
            return request.with(received.readSlice(length: length)?.readableBytesView ?? ByteBufferView())
        }

        private func takeHead(_ context: ChannelHandlerContext) -> (Request, Int)? {
            let view = received.readableBytesView
            guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            let lines = String(decoding: view[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            let words = lines[0].split(separator: " ")
            let headers = lines.dropFirst().map { line -> (name: String, value: String) in
                let colon = line.firstIndex(of: ":") ?? line.endIndex
                return (line[..<colon].lowercased(), line[colon...].dropFirst().drop { $0 == " " }.description)
            }
            received.moveReaderIndex(to: end.upperBound)
            let request = Request(
                method: String(words[0]), target: words.count > 1 ? String(words[1]) : "", headers: headers, body: [])
            if request.header("expect") != nil || isEager { answer(greeting(request), to: request, context: context) }
            return (request, request.header("content-length").flatMap { Int($0) } ?? 0)
        }

        private func answer(_ answer: Answer, to request: Request, context: ChannelHandlerContext) {
            switch answer {
            case .silence: break
            case .close: context.close(promise: nil)
            case .raw(let bytes, let closes):
                let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)))
                if closes {
                    let channel = context.channel
                    written.whenComplete { _ in channel.close(promise: nil) }
                }
            case .respond(let status, let headers, let body):
                var head = "HTTP/1.1 \(status) X\r\n"
                for (name, value) in headers { head += "\(name): \(value)\r\n" }
                if !headers.contains(where: { $0.0 == "content-length" }) {
                    head += "content-length: \(body.count)\r\n"
                }
                var buffer = ByteBuffer(string: head + "\r\n")
                if request.method != "HEAD" { buffer.writeBytes(body) }
                context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
            }
        }
    }
}
