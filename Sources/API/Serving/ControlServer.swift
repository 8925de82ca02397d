import ControlProtocol
import Glibc
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import OperationTypes
import ServiceLifecycle
import Synchronization

/// Serves every verb on the control socket, in HTTP/1.1 with JSON.
///
/// The socket listens before ``run()``, so early callers wait. After a graceful shutdown begins, the server
/// accepts no connections: new callers stay in the socket's queue for the next daemon. It still serves the
/// connections that it accepted before. Requests in progress may take up to ``ServerLimits/drain``, and streams
/// of events end at once.
public struct ControlServer: Service {
    /// Whether a peer may use the socket.
    public typealias PeerCheck = @Sendable (PeerCredentials) -> Bool

    private let socket: ControlSocket
    private let limits: ServerLimits
    private let logger: Logger
    private let group: any EventLoopGroup
    private let responder: ControlResponder
    private let stop: StopSignal
    private let connections: OpenConnections
    private let gate = AcceptGate()

    /// Creates a server that answers every request with one problem, in place of a daemon that cannot start.
    public init(
        refusing problem: ControlProblem, socket: ControlSocket, limits: ServerLimits = ServerLimits(), logger: Logger,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.init(
            socket: socket, limits: limits, logger: logger, group: group, unlimitedUsers: [0, geteuid()],
            stop: StopSignal(),
            responder: ControlResponder(refusing: problem, limits: limits, logger: logger))
    }

    /// Creates a server for all verbs.
    ///
    /// - Parameters:
    ///   - unlimitedUsers: The users to whom ``ServerLimits/connectionsPerUser`` does not apply. Default: root
    ///     and the daemon's user.
    ///   - isAllowed: Whether a peer may use the socket, in addition to the socket's mode.
    public init(
        control: any JobControl, socket: ControlSocket, limits: ServerLimits = ServerLimits(), logger: Logger,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        unlimitedUsers: Set<UInt32> = [0, geteuid()],
        isAllowed: @escaping PeerCheck = { _ in true }
    ) {
        let stop = StopSignal()
        self.init(
            socket: socket, limits: limits, logger: logger, group: group, unlimitedUsers: unlimitedUsers, stop: stop,
            responder: ControlResponder(
                control: control, limits: limits, stop: stop, logger: logger, isAllowed: isAllowed))
    }

    private init(
        socket: ControlSocket, limits: ServerLimits, logger: Logger, group: any EventLoopGroup,
        unlimitedUsers: Set<UInt32>, stop: StopSignal, responder: ControlResponder
    ) {
        self.socket = socket
        self.limits = limits
        self.logger = logger
        self.group = group
        self.stop = stop
        self.responder = responder
        connections = OpenConnections(limits: limits, unlimitedUsers: unlimitedUsers)
    }

    /// Serves until the task is cancelled or shut down gracefully. Call it once: the socket is closed when it
    /// returns.
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

    /// A connection on its way from the listener to the task that serves it. If the server is cancelled instead
    /// of shut down, no task serves the connection. It must then be closed, since NIO crashes the process when
    /// a channel's wrapper is released unused.
    private final class Accepted: Sendable {
        private let channel: HTTP1Channel.Value
        private let http: HTTP1Channel
        private let isServed = Mutex(false)

        init(channel: HTTP1Channel.Value, http: HTTP1Channel) {
            self.channel = channel
            self.http = http
        }

        var executor: EventLoopExecutor { EventLoopExecutor(channel.channel.eventLoop) }

        func serve(logger: Logger) async {
            await http.handle(value: channel, logger: logger)
        }

        /// Marks the connection as served; ``serve(logger:)`` must follow.
        func take(from gate: AcceptGate) {
            isServed.withLock { $0 = true }
            gate.isServed(channel.channel)
        }

        deinit {
            guard !isServed.withLock(\.self) else { return }
            let channel = channel
            // Nobody awaits this task. If closing fails, the connection was already closed.
            Task { try? await channel.executeThenClose { _, _ in } }
        }
    }

    private func listen() async throws -> NIOAsyncChannel<Accepted, Never> {
        try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptGate.Handler(gate))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // Above this size, writing waits for the caller, so that an unread answer keeps its memory
            // reserved.
            .childChannelOption(
                .writeBufferWaterMark, value: .init(low: AnswerMemory.freeBytes / 2, high: AnswerMemory.freeBytes)
            )
            .bind(socket.descriptor) { channel in
                connections.add(channel)
                let address = AddressWatch()
                return PeerCredentials.read(from: channel).flatMap { peer in
                    let http = http(for: peer, on: channel)
                    return http.setup(channel: channel, logger: logger).flatMapThrowing { value in
                        let pipeline = channel.pipeline.syncOperations
                        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                        try pipeline.addHandler(
                            HeadProblemHandler(address, Self.headLimits), position: .after(decoder))
                        try pipeline.addHandler(AddressWatch.Handler(address), position: .first)
                        return Accepted(channel: value, http: http)
                    }
                }
            }
    }

    private static let headLimits = HeadLimits()

    private func http(for peer: PeerCredentials, on channel: any Channel) -> HTTP1Channel {
        let closed = StopSignal()
        let over = StopSignal()
        channel.closeFuture.whenComplete { _ in closed.open() }
        let refusal = connections.admit(channel, for: peer.uid) ? nil : limits.tooManyConnections(of: peer)
        return HTTP1Channel(
            responder: { request, writer, channel in
                // After a refused body, do not carry out further requests.
                if over.isOpen { return channel.close(promise: nil) }
                connections.beginRequest(channel)
                defer { connections.endRequest(channel) }
                let continues = try await responder.respond(
                    to: request, from: peer, closed: closed, refusal: refusal, writer: writer, channel: channel)
                if !continues { over.open() }
            },
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [StallHandler(limits: limits)],
                // A connection beyond the limit gets an answer and is closed soon afterwards.
                idleTimeout: TimeAmount(refusal == nil ? limits.idle : limits.linger),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: Self.headLimits.fieldBytes, maxHeaderListSize: Self.headLimits.bytes,
                    maxHeaderFieldCount: Self.headLimits.fields)))
    }

    private func accept(
        from listener: NIOAsyncChannel<Accepted, Never>, into tasks: inout DiscardingTaskGroup
    ) async {
        do {
            try await listener.executeThenClose { accepted in
                for try await one in accepted {
                    one.take(from: gate)
                    tasks.addTask(executorPreference: one.executor) { await one.serve(logger: logger) }
                }
            }
        } catch {
            // A listener that a stop closes may throw an error.
            if !stop.isOpen { logger.error("the control socket no longer accepts callers: \(error)") }
        }
    }

    private func end(_ listener: any Channel) {
        stop.open()
        let loop = listener.eventLoop
        gate.close(listener) {
            listener.close(promise: nil)
            connections.quiesce()
        }
        loop.scheduleTask(in: TimeAmount(limits.drain)) {
            listener.close(promise: nil)
            connections.closeAll()
        }
    }
}
