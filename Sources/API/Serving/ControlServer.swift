import Control
import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Serves every verb on the control socket, in HTTP/1.1 with JSON.
///
/// The socket listens before ``run()``; callers that come early wait. On a graceful shutdown nothing new is accepted,
/// requests in flight end within ``ServerLimits/drain``, and streams of events end at once.
public struct ControlServer: Service {
    public typealias PeerCheck = @Sendable (PeerCredentials) -> Bool

    private let socket: ControlSocket
    private let limits: ServerLimits
    private let logger: Logger
    private let group: any EventLoopGroup
    private let responder: ControlResponder
    private let stop: StopSignal
    private let connections: OpenConnections
    private let unlimitedUsers: Set<UInt32>

    /// - Parameters:
    ///   - unlimitedUsers: Those that ``ServerLimits/connectionsPerUser`` and the limit of large answers do not bind:
    ///     root and the daemon's own.
    ///   - isAllowed: Whether a peer may use the socket, besides the socket's mode.
    public init(
        control: any JobControl, socket: ControlSocket, limits: ServerLimits = ServerLimits(), logger: Logger,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        unlimitedUsers: Set<UInt32> = [0, geteuid()],
        isAllowed: @escaping PeerCheck = { _ in true }
    ) {
        self.socket = socket
        self.limits = limits
        self.logger = logger
        self.group = group
        self.unlimitedUsers = unlimitedUsers
        stop = StopSignal()
        connections = OpenConnections(arrival: limits.arrival)
        responder = ControlResponder(
            control: control, limits: limits, stop: stop, logger: logger, isAllowed: isAllowed)
    }

    /// Serves until the task is cancelled or shut down gracefully. To be called once; the socket is closed when it returns.
    public func run() async throws {
        defer { socket.removeFile() }
        let listener = try await listen()
        await withTaskCancellationOrGracefulShutdownHandler {
            await withDiscardingTaskGroup { tasks in
                await accept(from: listener, into: &tasks)
            }
        } onCancelOrGracefulShutdown: {
            end(listener.channel)
        }
    }

    /// A connection on its way from the listener to the task that serves it. One that comes at the very end of the listener is
    /// dropped there; NIO ends the process when what wraps a channel is released without having been used.
    private final class Accepted: Sendable {
        private let channel: HTTP1Channel.Value
        private let http: HTTP1Channel
        private let isServed = Mutex(false)

        init(channel: HTTP1Channel.Value, http: HTTP1Channel) {
            self.channel = channel
            self.http = http
        }

        func serve(logger: Logger) async {
            isServed.withLock { $0 = true }
            await http.handle(value: channel, logger: logger)
        }

        deinit {
            guard !isServed.withLock(\.self) else { return }
            let channel = channel
            // Awaited by nobody: the connection is closed, and a failure to do so means that it was.
            Task { try? await channel.executeThenClose { _, _ in } }
        }
    }

    private func listen() async throws -> NIOAsyncChannel<Accepted, Never> {
        try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(maxConnections: limits.connections))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(socket.descriptor) { channel in
                connections.add(channel)
                return PeerCredentials.read(from: channel).flatMap { peer in
                    let http = http(for: peer, on: channel)
                    return http.setup(channel: channel, logger: logger).map { Accepted(channel: $0, http: http) }
                }
            }
    }

    private func http(for peer: PeerCredentials, on channel: any Channel) -> HTTP1Channel {
        let closed = StopSignal()
        let over = StopSignal()
        channel.closeFuture.whenComplete { _ in closed.fire() }
        let isUnlimited = unlimitedUsers.contains(peer.uid)
        let isCounted =
            isUnlimited
            || connections.count(channel, for: peer.uid, atMost: limits.connectionsPerUser)
        let refusal = isCounted ? nil : limits.tooManyConnections(of: peer)
        return HTTP1Channel(
            responder: { request, writer, channel in
                // What follows a body that was refused is not carried out.
                if over.isFired { return channel.close(promise: nil) }
                let goesOn = try await responder.respond(
                    to: request, from: peer, isUnlimited: isUnlimited, closed: closed, refusal: refusal,
                    writer: writer, channel: channel)
                if !goesOn { over.fire() }
            },
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [StallHandler(limits: limits)],
                // Who is one too many gets an answer, but no time.
                idleTimeout: TimeAmount(refusal == nil ? limits.idle : limits.linger),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100)))
    }

    private func accept(
        from listener: NIOAsyncChannel<Accepted, Never>, into tasks: inout DiscardingTaskGroup
    ) async {
        do {
            try await listener.executeThenClose { accepted in
                for try await one in accepted {
                    tasks.addTask { await one.serve(logger: logger) }
                }
            }
        } catch {
            // A listener that is closed by a stop may say so by an error.
            if !stop.isFired { logger.error("the control socket no longer accepts: \(error)") }
        }
    }

    private func end(_ listener: any Channel) {
        stop.fire()
        listener.close(promise: nil)
        connections.quiesce()
        listener.eventLoop.scheduleTask(in: TimeAmount(limits.drain)) { connections.closeAll() }
    }
}
