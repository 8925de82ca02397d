import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import WebSyntax

/// Opens connections to servers, directly or through the proxy, and sets up TLS on them.
struct Connector: Sendable {
    let configuration: OutgoingConfiguration
    let group: any EventLoopGroup
    let roots: TrustRoots
    let pool: ConnectionPool
    let dead = DeadAddresses()
    /// Looks up the proxy's name; servers are given as addresses.
    let lookUp: Resolver.LookUp

    /// A new connection, and the addresses that failed before it succeeded.
    struct Opened: Sendable {
        var connection: Connection
        /// Addresses that failed, or that were tried earlier and had not answered yet.
        var failed: [IPAddress] = []
    }

    /// No connection could be opened.
    struct Failed: Error {
        /// The addresses that were tried. The cause belongs to the last of them.
        var tried: [IPAddress]
        var cause: any Error
        /// Whether trying other addresses is pointless.
        var isFinal = false
    }

    private var limit: TimeAmount { TimeAmount(configuration.limits.connect) }

    /// Connects to one of the server's vetted addresses.
    ///
    /// - Parameter chain: Records the server's certificates. If it is given, the TLS handshake always fails.
    /// - Throws: ``Failed`` if the attempts to connect failed; unless it is final, another address may succeed. Any
    ///   other error means that no address will succeed.
    func open(
        _ origin: Connection.Origin, _ addresses: [IPAddress], keepingCertificatesIn chain: PeerChain? = nil
    ) async throws -> Opened {
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? group.next()
        if let proxy = configuration.proxy {
            guard let address = addresses.first else { throw Failed(tried: [], cause: ConnectionError.refused) }
            let secret = try configuration.proxySecret()
            let channel = try await reach(proxy, on: loop)
            return Opened(
                connection: try await secure(channel, origin, address, chain) { pipeline in
                    let tunnel = loop.makePromise(of: Void.self)
                    let handler = ProxyTunnel(to: address, port: origin.port, secret: secret, promise: tunnel)
                    do { try pipeline.addHandler(handler) } catch { tunnel.fail(error) }
                    return (tunnel.futureResult, NIOLoopBound(handler, eventLoop: loop))
                })
        }
        let outcome: RaceRun.Outcome
        do {
            outcome = try await connect(addresses, port: origin.port, on: loop)
        } catch let lost as RaceRun.Lost {
            throw Failed(
                tried: lost.failed,
                cause: lost.isTimeout ? ConnectionError.connectTimeout : ConnectionError.refused)
        }
        return Opened(
            connection: try await secure(outcome.channel, origin, outcome.address, chain, through: nil),
            failed: outcome.failed)
    }

    private func reach(_ proxy: ProxyServer, on loop: any EventLoop) async throws -> any Channel {
        let addresses: [IPAddress]
        if let address = IPAddress(proxy.host) {
            addresses = [address]
        } else {
            guard case .success(let found) = await lookUp(proxy.host) else { throw ConnectionError.proxyUnreachable }
            addresses = found.addresses
        }
        do { return try await connect(addresses, port: proxy.port, on: loop).channel } catch is RaceRun.Lost {
            throw ConnectionError.proxyUnreachable
        }
    }

    /// Connects to one of the addresses, and remembers those that failed.
    private func connect(
        _ addresses: [IPAddress], port: UInt16, on loop: any EventLoop
    ) async throws -> RaceRun.Outcome {
        let ordered = ConnectionRace.order(addresses) { dead.contains(.init(address: $0, port: port)) }
        func note(_ failed: [IPAddress]) { for address in failed { dead.note(.init(address: address, port: port)) } }
        do {
            let outcome = try await RaceRun.connect(ordered, port: port, limit: limit, on: loop)
            note(outcome.failed)
            dead.forget(.init(address: outcome.address, port: port))
            return outcome
        } catch let lost as RaceRun.Lost {
            note(lost.failed)
            throw lost
        }
    }

    private typealias Tunnel = (established: EventLoopFuture<Void>, handler: NIOLoopBound<ProxyTunnel>)

    /// Prepares a connection for requests: opens the proxy's tunnel, starts TLS, and adds the HTTP handlers.
    private func secure(
        _ channel: any Channel, _ origin: Connection.Origin, _ address: IPAddress, _ chain: PeerChain?,
        through tunnel: (@Sendable (ChannelPipeline.SynchronousOperations) throws -> Tunnel)?
    ) async throws -> Connection {
        let loop = channel.eventLoop
        let limit = limit
        do {
            let context = origin.scheme == .https ? try roots.context() : nil
            return try await withTaskCancellationHandler {
                try await loop.flatSubmit { () -> EventLoopFuture<Connection> in
                    guard let tunnel else { return encrypt(channel, origin, address, context, chain, limit) }
                    let timer = loop.assumeIsolated().scheduleTask(in: limit) {
                        channel.pipeline.fireErrorCaught(ConnectionError.proxyTimeout)
                    }
                    do {
                        let (established, handler) = try tunnel(channel.pipeline.syncOperations)
                        established.whenComplete { _ in timer.cancel() }
                        return established.flatMap {
                            channel.pipeline.syncOperations.removeHandler(handler.value)
                        }.flatMap { encrypt(channel, origin, address, context, chain, limit) }
                    } catch {
                        return loop.makeFailedFuture(error)
                    }
                }.get()
            } onCancel: {
                channel.close(promise: nil)
            }
        } catch {
            channel.close(promise: nil)
            if Task.isCancelled { throw CancellationError() }
            throw Failed(tried: [address], cause: error, isFinal: !isWorthAnotherAddress(error))
        }
    }

    /// Whether another address may succeed. TLS may work at another address of the same server, but a refused
    /// certificate is final.
    private func isWorthAnotherAddress(_ error: any Error) -> Bool {
        switch error {
        case ConnectionError.closed, ConnectionError.secureTimeout, ConnectionError.proxyRefused: true
        case is IOError, is ChannelError: true
        case let error as NIOSSLError:
            error == .uncleanShutdown || error == .handshakeFailed(.sslError([.eofDuringHandshake]))
        default: false
        }
    }

    /// Adds TLS and the HTTP handlers. Runs on the channel's event loop.
    private func encrypt(
        _ channel: any Channel, _ origin: Connection.Origin, _ address: IPAddress, _ context: NIOSSLContext?,
        _ chain: PeerChain?, _ limit: TimeAmount
    ) -> EventLoopFuture<Connection> {
        let loop = channel.eventLoop
        let secured = context.map { _ in loop.makePromise(of: Void.self) }
        do {
            let pipeline = channel.pipeline.syncOperations
            if let context {
                // SNI does not allow IP addresses.
                let name = IPAddress(origin.host) == nil ? origin.host : nil
                try pipeline.addHandler(
                    try chain?.handler(for: name) ?? NIOSSLClientHandler(context: context, serverHostname: name))
            }
            let handler = ExchangeHandler(
                pool: pool, idle: TimeAmount(configuration.limits.idle),
                maxHeadBytes: configuration.limits.headerBytes, secured: secured)
            try pipeline.addHandler(HTTPRequestEncoder())
            try pipeline.addHandler(handler)
            // From here on the handler decides when to read from the connection.
            channel.setOption(.autoRead, value: true).whenFailure { _ in channel.close(promise: nil) }
            let bound = NIOLoopBound(handler, eventLoop: loop)
            guard let secured else {
                return loop.makeSucceededFuture(try serve(channel, origin, address, bound.value, tls: nil))
            }
            let timer = loop.assumeIsolated().scheduleTask(in: limit) {
                channel.pipeline.fireErrorCaught(ConnectionError.secureTimeout)
            }
            secured.futureResult.whenComplete { _ in timer.cancel() }
            return secured.futureResult.flatMapThrowing {
                // So far the client has sent only the handshake, no part of the request.
                guard let certificate = try channel.pipeline.syncOperations.nioSSL_peerCertificate(),
                    ServerIdentity.certificate(certificate, names: origin.host)
                else { throw TLSError.wrongHost }
                let version: String? =
                    switch try channel.pipeline.syncOperations.nioSSL_tlsVersion() {
                    case .tlsv13: "1.3"
                    case .tlsv12: "1.2"
                    // Older versions are disabled.
                    case .tlsv11, .tlsv1, nil: nil
                    }
                return try serve(channel, origin, address, bound.value, tls: version)
            }
        } catch {
            secured?.fail(error)
            return loop.makeFailedFuture(error)
        }
    }

    /// Creates the connection for a channel that is ready for requests. Runs on the channel's event loop.
    private func serve(
        _ channel: any Channel, _ origin: Connection.Origin, _ address: IPAddress, _ handler: ExchangeHandler,
        tls: String?
    ) throws -> Connection {
        let connection = Connection(origin, address, tls: tls, channel, handler)
        guard channel.isActive else { throw ConnectionError.closed }
        guard pool.add(connection) else { throw CancellationError() }
        handler.serve(connection)
        return connection
    }
}
