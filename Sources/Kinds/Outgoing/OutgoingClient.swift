import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix

/// The one way out: every request that Halyard sends goes through here.
///
/// The host is resolved once, each address is judged by the ``AddressPolicy``, and the connection goes to exactly the
/// address that was judged. Redirects are never followed here: each hop is a new request with its own judgement.
public final class OutgoingClient: Sendable {
    let configuration: OutgoingConfiguration
    /// For reading files, which blocks. Few: each keeps memory of its own for what it reads.
    let threads: NIOThreadPool
    /// Nil in tests that have a table of names in its place.
    private let resolver: Resolver?
    private let lookUp: Resolver.LookUp
    private let servers: ServerPool
    private let gate: HostGate
    private let strictHosts = StrictHosts()

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

    /// For tests, with a table of names.
    convenience init(
        _ configuration: OutgoingConfiguration,
        lookUp: @escaping @Sendable (_ name: String) -> Result<[IPAddress], LookupProblem>
    ) {
        self.init(configuration, group: MultiThreadedEventLoopGroup.singleton, resolver: nil) { name in
            lookUp(name).map { Resolver.Found(addresses: $0) }
        }
    }

    /// - Parameter resolver: Shut down with the client.
    private init(
        _ configuration: OutgoingConfiguration, group: any EventLoopGroup, resolver: Resolver?,
        find: @escaping Resolver.LookUp
    ) {
        self.configuration = configuration
        self.resolver = resolver
        lookUp = find
        threads = NIOThreadPool(numberOfThreads: 3)
        threads.start()
        servers = ServerPool(configuration: configuration, group: group)
        gate = HostGate(limits: configuration.host)
    }

    /// Closes every connection. When it returns, nothing of the client runs any more; exchanges under way have failed.
    public func shutdown() async {
        await servers.shutdown()
        await resolver?.shutdown()
        // It fails only when it is shut down already.
        try? await threads.shutdownGracefully()
    }

    /// Sends a request and hands over the answer as soon as its headers are there.
    ///
    /// The body can be read only inside `use`; what is left of it when `use` returns is not received.
    ///
    /// - Parameter stopwatch: Stands still while the request waits for its turn at the host.
    func exchange<T>(
        _ request: OutgoingRequest, stopwatch: Stopwatch? = nil,
        _ use: (OutgoingResponse) async throws(KindFailure) -> T
    ) async throws(KindFailure) -> T {
        let (candidates, isOwn) = try await vettedAddresses(for: request.url)
        let isGentle = request.isGentle && (!isOwn || configuration.host.sparesNobody)
        return try await gate.pass(request.url, isGentle: isGentle, stopwatch: stopwatch) {
            () async throws(KindFailure) in
            try await exchange(request, with: candidates, use)
        }
    }

    /// The same address by https, when its host has said before that it is to be reached by https only (RFC 6797).
    func strictForm(of url: WebURL) -> WebURL? { strictHosts.upgrade(url) }

    private func exchange<T>(
        _ request: OutgoingRequest, with candidates: [IPAddress],
        _ use: (OutgoingResponse) async throws(KindFailure) -> T
    ) async throws(KindFailure) -> T {
        var last = KindFailure.connectFailed(request.url)
        for address in candidates.prefix(4) {
            let server = ServerPool.Server(
                scheme: request.url.scheme, host: request.url.host.lookupName, port: request.url.port, address: address)
            guard let client = try servers.borrow(server) else { throw .cancelled }
            defer { servers.giveBack(server) }
            let response: OutgoingResponse
            do throws(KindFailure) {
                response = try await head(of: request, from: client, at: address)
            } catch {
                // A proxy may reach one address of a host and not the other.
                guard error.reason == .connectFailed || error.reason == .proxyFailed, error.status == nil else {
                    throw error.met(at: address)
                }
                last = error.met(at: address)
                continue
            }
            strictHosts.learn(from: response)
            do throws(KindFailure) { return try await use(response) } catch { throw error.met(at: address) }
        }
        throw last
    }

    /// The addresses of the host that may be connected to, in order of preference, and whether a rule of the administrator
    /// permits the first.
    func vettedAddresses(for url: WebURL) async throws(KindFailure) -> ([IPAddress], isOwn: Bool) {
        let host = url.host.lookupName
        // As a rule of `network.allow` names it.
        let place = host.contains(":") ? "[\(host)]:\(url.port)" : "\(host):\(url.port)"
        let all: [IPAddress] =
            if case .address(let address) = url.host {
                [address]
            } else {
                try await addresses(of: host, for: url)
            }
        var permitted: [IPAddress] = []
        var isPortAtFault = true
        var isOwn = false
        for address in all {
            switch configuration.policy.judge(host: host, address: address, port: url.port) {
            case .permitted: permitted.append(address)
            case .permittedByRule:
                isOwn = isOwn || permitted.isEmpty
                permitted.append(address)
            case .addressRefused: isPortAtFault = false
            case .portRefused: break
            }
        }
        if !permitted.isEmpty { return (permitted, isOwn) }
        throw isPortAtFault
            ? KindFailure(
                .portRefused,
                "\(url.redacted): port \(url.port) is not in the list of allowed ports; "
                    + "the administrator can add it, or allow `\(place)`.", url: url)
            : KindFailure(
                .addressRefused,
                "\(url.redacted): the host is in a private or otherwise special network; "
                    + "the administrator can allow `\(place)`.", url: url)
    }

    private func addresses(of name: String, for url: WebURL) async throws(KindFailure) -> [IPAddress] {
        let answer = await lookUp(name)
        if Task.isCancelled { throw .cancelled }
        switch answer {
        case .success(let found): return found.addresses
        case .failure(let problem): throw .lookup(problem, url)
        }
    }

    private func head(
        of request: OutgoingRequest, from client: HTTPClient, at address: IPAddress
    ) async throws(KindFailure) -> OutgoingResponse {
        var message = HTTPClientRequest(url: request.url.wireForm)
        message.method = request.method
        message.headers = request.headers
        message.headers.replaceOrAdd(name: "user-agent", value: configuration.userAgent)
        message.body = request.body
        let start = ContinuousClock.now
        let limits = configuration.limits
        var isSecondTry = false
        while true {
            let trace = ConnectionTrace(request, at: address, through: configuration.proxy)
            message.headers.remove(name: WireListeners.header)
            let isHeard = trace != nil || request.interim != nil
            let name = isHeard ? servers.listeners.add(WireListener(interim: request.interim, trace: trace)) : nil
            if let name { message.headers.add(name: WireListeners.header, value: name) }
            defer { if let name { _ = servers.listeners.take(name) } }
            do {
                let answer = try await client.execute(message, deadline: .distantFuture)
                let response = OutgoingResponse(
                    answer, url: request.url, address: address, duration: .now - start, limits: limits,
                    trace: trace)
                let size = answer.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
                if size > limits.headerBytes {
                    throw KindFailure.headersTooLarge(request.url, limit: limits.headerBytes)
                }
                return response
            } catch {
                let failure = failure(error, at: request.url)
                trace?.failed(failure.reason == .cancelled ? Overrun.cause : failure)
                // A kept connection may have been closed by the server at the moment it was used again.
                let isHarmless = [.GET, .HEAD, .OPTIONS, .DELETE].contains(request.method)
                let isWorthAgain = failure.reason == .connectionLost && isHarmless && !isSecondTry
                guard isWorthAgain else { throw failure }
                isSecondTry = true
            }
        }
    }

    private func failure(_ error: any Error, at url: WebURL) -> KindFailure {
        if Task.isCancelled { return .cancelled }
        let failure = KindFailure(error, at: url, limits: configuration.limits)
        // Where there is a proxy, it alone is connected to.
        if let proxy = configuration.proxy, failure.reason == .connectFailed,
            error as? HTTPClientError != .tlsHandshakeTimeout
        {
            return .proxyUnreachable(proxy, for: url)
        }
        return failure
    }
}
