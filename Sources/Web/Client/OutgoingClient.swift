import Glibc
import Jobs
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import WebSyntax

/// Sends every HTTP request of Halyard.
///
/// The client resolves the host once, checks each address against the ``AddressPolicy``, and connects only to an
/// address that passed. It never follows redirects: each hop is a new request, which is checked again.
public final class OutgoingClient: Sendable {
    package let configuration: OutgoingConfiguration
    /// Threads for reading files, since reading blocks. There are few of them, because each has its own buffers.
    package let threads: NIOThreadPool
    /// Nil in tests that look names up in a table instead.
    private let resolver: Resolver?
    let lookUp: Resolver.LookUp
    private let pool: ConnectionPool
    private let connector: Connector
    private let limiter: HostLimiter
    private let strictHosts = StrictHosts()
    private let executors: [LoopExecutor]
    private let lastExecutor = Atomic(0)

    /// Creates a client that looks up names according to the system's configuration files.
    ///
    /// The caller must end the client with ``shutdown()``. The event loops of `group` keep running after that.
    public convenience init(
        _ configuration: OutgoingConfiguration = OutgoingConfiguration(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.init(configuration, group: group, resolver: Resolver())
    }

    convenience init(
        _ configuration: OutgoingConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        resolver: Resolver
    ) {
        self.init(configuration, group: group, resolver: resolver) { await resolver.find($0) }
    }

    /// Creates a client for tests, which looks names up in a table.
    convenience init(
        _ configuration: OutgoingConfiguration,
        lookUp: @escaping @Sendable (_ name: String) -> Result<[IPAddress], LookupError>
    ) {
        self.init(configuration, group: MultiThreadedEventLoopGroup.singleton, resolver: nil) { name in
            lookUp(name).map { Resolver.Found(addresses: $0) }
        }
    }

    /// - Parameter resolver: ``shutdown()`` also shuts this resolver down.
    private init(
        _ configuration: OutgoingConfiguration, group: any EventLoopGroup, resolver: Resolver?,
        find: @escaping Resolver.LookUp
    ) {
        self.configuration = configuration
        self.resolver = resolver
        lookUp = find
        threads = NIOThreadPool(numberOfThreads: 3)
        threads.start()
        pool = ConnectionPool(maxOrigins: configuration.maxPooledServers)
        connector = Connector(
            configuration: configuration, group: group, roots: TrustRoots(extraFile: configuration.certificateFile),
            pool: pool, lookUp: find)
        limiter = HostLimiter(limits: configuration.host)
        executors = group.makeIterator().map(LoopExecutor.init)
    }

    /// The executor for a task that only sends small requests: exchanges that the task begins use connections of the
    /// executor's event loop. Each call returns the next executor in turn.
    package var executor: any TaskExecutor {
        executors[
            Int(truncatingIfNeeded: lastExecutor.wrappingAdd(1, ordering: .relaxed).newValue & .max) % executors.count]
    }

    /// Closes every connection and ends the client's threads. Exchanges in progress fail. When this returns, nothing of
    /// the client is running.
    public func shutdown() async {
        await pool.shutdown()
        await resolver?.shutdown()
        // Fails only when the pool is already shut down.
        try? await threads.shutdownGracefully()
    }

    /// Sends a request, and calls `use` with the response as soon as its headers have arrived.
    ///
    /// Read the body inside `use`. If part of it has not been received when `use` returns, the connection is closed.
    ///
    /// A request that fails because the server closed a kept connection is sent once more, if that is harmless.
    ///
    /// - Parameter stopwatch: Is paused while the request waits for a permit of the host.
    /// - Throws: The reason why there is no response, or the error of `use`.
    package func exchange<T>(
        _ request: OutgoingRequest, stopwatch: Stopwatch? = nil,
        _ use: (OutgoingResponse) async throws(KindFailure) -> T
    ) async throws(KindFailure) -> T {
        let vetted = try await vettedAddresses(for: request.url)
        let isGentle = request.isGentle && (!vetted.isOwn || configuration.host.limitsOwnHosts)
        return try await limiter.withPermit(for: request.url, isGentle: isGentle, stopwatch: stopwatch) {
            () async throws(KindFailure) in
            try await exchange(request, with: vetted, use)
        }
    }

    /// Returns the URL with https in place of http, if its host has asked to be reached only by https (RFC 6797).
    /// Returns nil otherwise.
    package func strictForm(of url: WebURL) -> WebURL? { strictHosts.upgrade(url) }

    private func exchange<T>(
        _ request: OutgoingRequest, with vetted: VettedAddresses,
        _ use: (OutgoingResponse) async throws(KindFailure) -> T
    ) async throws(KindFailure) -> T {
        let head = try request.head(userAgent: configuration.userAgent)
        var isFirstTry = true
        while true {
            let start = ContinuousClock.now
            let opened = try await connection(for: request, vetted, orKept: isFirstTry)
            let exchange = Exchange(on: opened.connection, interim: request.interim, trace: opened.trace)
            let response: OutgoingResponse
            var sending: Task<Void, Never>?
            do {
                sending = try await begin(exchange, head, request.body)
                response = OutgoingResponse(
                    try await exchange.head(), of: exchange, url: request.url, duration: .now - start,
                    limits: configuration.limits)
            } catch {
                exchange.leave()
                sending?.cancel()
                let failure = failure(error, at: request.url)
                opened.trace?.failed(failure.reason == .cancelled ? Overrun.cause : failure)
                // The server may have closed a kept connection at the moment when the client used it again.
                let isUnsent = error as? ConnectionError == .closedBefore
                let isHarmless = isUnsent || [.GET, .HEAD, .OPTIONS, .DELETE].contains(request.method)
                guard isFirstTry, isHarmless, failure.reason == .connectionLost else {
                    throw failure.met(at: opened.connection.address)
                }
                isFirstTry = false
                continue
            }
            strictHosts.learn(from: response.headers, of: response.url)
            let result = await Result.catching { () async throws(KindFailure) in try await use(response) }
            exchange.leave()
            sending?.cancel()
            do throws(KindFailure) { return try result.get() } catch { throw error.met(at: response.address) }
        }
    }

    /// Starts a request on its connection. For a stream body, returns the task that sends the body; the caller must
    /// cancel it.
    private func begin(
        _ exchange: Exchange, _ head: HTTPRequestHead, _ body: OutgoingBody?
    ) async throws -> Task<Void, Never>? {
        guard case .stream(let stream, _)? = body else {
            exchange.connection.perform { $0.start(exchange, head, body) }
            return nil
        }
        let isTaken = await withCheckedContinuation { taken in
            exchange.connection.perform { handler in
                handler.start(exchange, head, body)
                taken.resume(returning: handler.isAt(exchange))
            }
        }
        // Nothing has been read from the stream yet, so the request can be sent on another connection.
        guard isTaken else { throw ConnectionError.closedBefore }
        // Nobody awaits this task, since its last read, perhaps from a slow disk, must not delay the response. The
        // caller cancels it.
        return Task { await exchange.send(stream) }
    }

    /// Finds out why a server's certificates were refused. Returns nil if the reason cannot be found.
    ///
    /// The client connects once more, and sends nothing but the TLS handshake.
    private func untrusted(_ url: WebURL, _ origin: Connection.Origin, at address: IPAddress) async -> KindFailure? {
        let chain = PeerChain()
        // This always fails, since the handler that records the certificates refuses them all.
        _ = try? await connector.open(origin, [address], keepingCertificatesIn: chain)
        if Task.isCancelled { return .cancelled }
        // The failed connection has already loaded the roots, so this does not fail.
        guard let authorities = try? connector.roots.authorities() else { return nil }
        let problem = CertificateProblem(
            of: chain.seen, roots: authorities.names, hasOwnAuthorities: authorities.hasOwn,
            now: Timestamp(milliseconds: Int64(time(nil)) * 1000))
        return problem.map { KindFailure($0, at: url) }
    }

    private func failure(_ error: any Error, at url: WebURL) -> KindFailure {
        if Task.isCancelled { return .cancelled }
        if let proxy = configuration.proxy, error as? ConnectionError == .proxyUnreachable {
            return .proxyUnreachable(proxy, for: url)
        }
        return KindFailure(error, at: url, limits: configuration.limits)
    }

    private struct Opened {
        var connection: Connection
        var trace: ConnectionTrace?
    }

    /// Returns a connection to one of the vetted addresses: an idle connection if `mayBeKept` is true and there is one,
    /// otherwise a new connection.
    ///
    /// The attempt's record gets an entry for each address that failed.
    private func connection(
        for request: OutgoingRequest, _ vetted: VettedAddresses, orKept mayBeKept: Bool
    ) async throws(KindFailure) -> Opened {
        let origin = Connection.Origin(request.url)
        let trace = TraceStart(request.method, request.url, through: configuration.proxy)
        if mayBeKept, let kept = pool.take(origin, vetted.addresses) {
            return Opened(connection: kept, trace: trace.at(kept.address))
        }
        var left = vetted.addresses.prefix(ConnectionRace.maxAttempts)[...]
        var rest = vetted.rest
        var tried: Set<IPAddress> = []
        while true {
            do {
                let opened = try await connector.open(origin, Array(left))
                for address in opened.failed { trace.at(address)?.failed(.connectFailed(request.url)) }
                return Opened(connection: opened.connection, trace: trace.at(opened.connection.address))
            } catch {
                var failure = failure(error, at: request.url)
                let lost = error as? Connector.Failed
                let failed = lost?.tried ?? left.prefix(1).map(\.self)
                if let lost, TLSError(lost.cause) == .untrusted, failure.reason == .tlsFailed,
                    let address = failed.last
                {
                    failure = await untrusted(request.url, origin, at: address) ?? failure
                }
                for address in failed {
                    trace.at(address)?.failed(failure.reason == .cancelled ? Overrun.cause : failure)
                }
                tried.formUnion(failed)
                left.removeAll(where: tried.contains)
                let isFinal = lost?.isFinal ?? true || failed.isEmpty || failure.reason == .cancelled
                if left.isEmpty, !isFinal, let later = rest {
                    rest = nil
                    left = await later().filter { !tried.contains($0) }.prefix(ConnectionRace.maxAttempts)
                }
                if isFinal || left.isEmpty { throw failed.last.map(failure.met) ?? failure }
            }
        }
    }
}

extension Result {
    fileprivate static func catching(_ work: () async throws(Failure) -> Success) async -> Result {
        do throws(Failure) { return .success(try await work()) } catch { return .failure(error) }
    }
}
