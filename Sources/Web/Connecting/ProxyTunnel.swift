import FoundationEssentials
import NIOCore
import WebSyntax

/// Asks a proxy for a connection to one address, with CONNECT. Once the tunnel is open, the caller removes this handler
/// from the pipeline.
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The largest accepted response to CONNECT, in bytes. A successful response has a head and no body.
    private static let maxBytes = 16 << 10

    private let request: ByteBuffer
    private let promise: EventLoopPromise<Void>
    private var received = ByteBuffer()
    private var isOver = false

    /// - Parameters:
    ///   - secret: `USER:PASSWORD`; nil for none.
    ///   - promise: Succeeds when the tunnel is open. Fails with ``ConnectionError``.
    init(to address: IPAddress, port: UInt16, secret: String?, promise: EventLoopPromise<Void>) {
        let place = address.bits == 128 ? "[\(address)]:\(port)" : "\(address):\(port)"
        let authorization = secret.map { "Proxy-Authorization: Basic \(Data($0.utf8).base64EncodedString())\r\n" }
        request = ByteBuffer(string: "CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n\(authorization ?? "")\r\n")
        self.promise = promise
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        readHead(context)
    }

    private func readHead(_ context: ChannelHandlerContext) {
        let bytes = Array(received.readableBytesView)
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            return received.readableBytes < Self.maxBytes
                ? context.read() : finish(.failure(ConnectionError.proxyRefused))
        }
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self).split(separator: " ")
        guard line.count >= 2, line[0].hasPrefix("HTTP/1."), let status = Int(line[1]) else {
            return finish(.failure(ConnectionError.proxyRefused))
        }
        switch status {
        // The client has sent nothing through the tunnel yet, so bytes after the head are an error.
        case 200..<300 where end.upperBound == bytes.count: finish(.success(()))
        case 100..<200 where status != 101:
            received.moveReaderIndex(forwardBy: end.upperBound)
            readHead(context)
        case 407: finish(.failure(ConnectionError.proxyWantsPassword))
        default: finish(.failure(ConnectionError.proxyRefused))
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { finish(.failure(ConnectionError.proxyRefused)) }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(ConnectionError.proxyRefused))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(error as? ConnectionError ?? .proxyRefused))
        context.close(promise: nil)
    }

    private func finish(_ result: Result<Void, any Error>) {
        if isOver { return }
        isOver = true
        promise.completeWith(result)
    }
}
