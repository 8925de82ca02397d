import NIOCore
import WebSyntax

/// One connection to a server, which carries one exchange at a time.
final class Connection: Sendable {
    /// The server that a connection was opened to. Only requests to the same scheme, host and port use it.
    struct Origin: Hashable, Sendable {
        var scheme: WebURL.Scheme
        var host: String
        var port: UInt16

        init(_ url: WebURL) {
            scheme = url.scheme
            host = url.host.lookupName
            port = url.port
        }
    }

    let origin: Origin
    /// The vetted address of the server, reached directly or through a proxy.
    let address: IPAddress
    /// The TLS version; nil without TLS.
    let tls: String?
    let channel: any Channel
    private let handler: NIOLoopBound<ExchangeHandler>

    /// Must be called on the channel's event loop.
    init(_ origin: Origin, _ address: IPAddress, tls: String?, _ channel: any Channel, _ handler: ExchangeHandler) {
        self.origin = origin
        self.address = address
        self.tls = tls
        self.channel = channel
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    }

    /// Runs `action` on the connection's event loop.
    func perform(_ action: @escaping @Sendable (ExchangeHandler) -> Void) {
        let loop = channel.eventLoop
        if loop.inEventLoop { action(handler.value) } else { loop.execute { [handler] in action(handler.value) } }
    }

    /// Closes the connection. The exchange in progress on it fails.
    func close() { channel.close(promise: nil) }
}
