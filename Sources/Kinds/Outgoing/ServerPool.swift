import AsyncHTTPClient
import NIOCore
import NIOSSL
import Synchronization

/// One HTTP client for each server, a server being scheme, host, port *and the vetted address*.
///
/// The client of a server can reach nothing but that address: its name lookup is overridden with it, while TLS and `Host`
/// keep the name. The least recently used clients that nobody uses are closed when there are too many.
final class ServerPool: Sendable {
    struct Server: Hashable, Sendable {
        var scheme: WebURL.Scheme
        var host: String
        var port: UInt16
        var address: IPAddress
    }

    private struct Entry {
        let client: HTTPClient
        var users: Int
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Server: Entry] = [:]
        var uses: UInt64 = 0
        var closing: [UInt64: Task<Void, Never>] = [:]
        var isShutDown = false
    }

    private let state = Mutex(State())
    private let configuration: OutgoingConfiguration
    private let group: any EventLoopGroup
    private let roots: TrustRoots
    let listeners = WireListeners()

    init(configuration: OutgoingConfiguration, group: any EventLoopGroup) {
        self.configuration = configuration
        self.group = group
        roots = TrustRoots(extraFile: configuration.certificateFile)
    }

    /// - Returns: Nil after ``shutdown()``. Otherwise ``giveBack(_:)`` must follow.
    func borrow(_ server: Server) throws(KindFailure) -> HTTPClient? {
        let tls = server.scheme == .https ? try roots.configuration() : nil
        let proxy = try configuration.proxy?.settings(secret: configuration.proxySecret())
        return state.withLock { state in
            if state.isShutDown { return nil }
            state.uses += 1
            if var entry = state.entries[server] {
                entry.users += 1
                entry.lastUse = state.uses
                state.entries[server] = entry
                return entry.client
            }
            let client = makeClient(for: server, tls: tls, proxy: proxy)
            state.entries[server] = Entry(client: client, users: 1, lastUse: state.uses)
            evict(&state)
            return client
        }
    }

    func giveBack(_ server: Server) {
        state.withLock { state in
            state.entries[server]?.users -= 1
            evict(&state)
        }
    }

    /// Closes every connection. Exchanges under way fail.
    func shutdown() async {
        let (clients, closing) = state.withLock { state in
            state.isShutDown = true
            defer { state.entries = [:] }
            return (state.entries.values.map(\.client), Array(state.closing.values))
        }
        for client in clients { await Self.close(client) }
        for task in closing { await task.value }
    }

    private func evict(_ state: inout State) {
        guard state.entries.count > configuration.maxPooledServers,
            let oldest = state.entries.filter({ $0.value.users == 0 }).min(by: { $0.value.lastUse < $1.value.lastUse }),
            let entry = state.entries.removeValue(forKey: oldest.key)
        else { return }
        state.uses += 1
        let id = state.uses
        // Awaited by shutdown(), or done before it.
        state.closing[id] = Task {
            await Self.close(entry.client)
            self.state.withLock { $0.closing[id] = nil }
        }
    }

    private static func close(_ client: HTTPClient) async {
        // The only error says that it is shut down already, which is what is wanted.
        try? await client.shutdown()
    }

    private func makeClient(
        for server: Server, tls: TLSConfiguration?, proxy: HTTPClient.Configuration.Proxy?
    ) -> HTTPClient {
        var client = HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: .disabled)
        client.tlsConfiguration = tls
        client.proxy = proxy
        let limits = configuration.limits
        // No limit for writing: the client's counts while *we* have nothing to send, and not while the server takes nothing.
        // `Transfer` has one that counts the other way round.
        client.timeout = .init(connect: TimeAmount(limits.connect), read: TimeAmount(limits.idle))
        client.httpVersion = .http1Only
        client.connectionPool.idleTimeout = .seconds(15)
        // How much runs at once is decided by the queues; here a waiting request would fail by the connect timeout.
        client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
        client.connectionPool.retryConnectionEstablishment = false
        client.dnsOverride = [server.host: "\(server.address)"]
        client.http1_1ConnectionDebugInitializer = { [listeners] channel in
            channel.eventLoop.makeCompletedFuture { try WireHandler.add(to: channel, listeners) }
        }
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: client)
    }
}
