import NIOCore
import NIOPosix
import WebSyntax

/// Carries out a ``ConnectionRace``: the first connection wins, and the others are closed.
///
/// SAFETY: every property except the promise is used only on `loop`.
final class RaceRun: @unchecked Sendable {
    struct Outcome: Sendable {
        /// The open channel. Automatic reading is still off.
        var channel: any Channel
        var address: IPAddress
        /// Addresses that failed, or that were tried before this one and had not answered yet.
        var failed: [IPAddress]
    }

    /// No address accepted a connection.
    struct Lost: Error {
        var failed: [IPAddress]
        /// Whether an address did not answer within the limit.
        var isTimeout: Bool
    }

    private let loop: any EventLoop
    private let port: UInt16
    private let limit: TimeAmount
    private let promise: EventLoopPromise<Outcome>
    private var race: ConnectionRace
    private var channels: [IPAddress: any Channel] = [:]
    private var failed: [IPAddress] = []
    private var isTimeout = false
    private var isOver = false
    private var timer: Scheduled<Void>?

    private init(_ addresses: [IPAddress], port: UInt16, limit: TimeAmount, on loop: any EventLoop) {
        race = ConnectionRace(addresses)
        self.port = port
        self.limit = limit
        self.loop = loop
        promise = loop.makePromise()
    }

    /// Connects to one of the addresses, trying them in order.
    ///
    /// - Parameter limit: The time limit for each address.
    /// - Throws: ``Lost`` if no address accepted a connection, or `CancellationError`.
    static func connect(
        _ addresses: [IPAddress], port: UInt16, limit: TimeAmount, on loop: any EventLoop
    ) async throws -> Outcome {
        let run = RaceRun(addresses, port: port, limit: limit, on: loop)
        return try await withTaskCancellationHandler {
            loop.execute { run.proceed() }
            return try await run.promise.futureResult.get()
        } onCancel: {
            loop.execute { run.end(.failure(CancellationError())) }
        }
    }

    private func proceed() {
        timer?.cancel()
        if isOver { return }
        guard let address = race.next() else {
            if race.isLost { end(.failure(Lost(failed: failed, isTimeout: isTimeout))) }
            return
        }
        timer = loop.scheduleTask(in: ConnectionRace.delay) { self.proceed() }
        do { try attempt(address) } catch { ended(address, .failure(error)) }
    }

    private func attempt(_ address: IPAddress) throws {
        let place = try SocketAddress(address, port: port)
        let connected = ClientBootstrap(group: loop)
            .connectTimeout(limit)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                self.channels[address] = channel
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .connect(to: place)
        connected.whenComplete { self.ended(address, $0) }
    }

    private func ended(_ address: IPAddress, _ result: Result<any Channel, any Error>) {
        let earlier = race.pending.prefix { $0 != address }
        race.failed(address)
        channels[address] = nil
        switch result {
        case .success(let channel):
            if isOver { return channel.close(promise: nil) }
            end(.success(Outcome(channel: channel, address: address, failed: failed + earlier)))
        case .failure(let error):
            if isOver { return }
            if case ChannelError.connectTimeout = error { isTimeout = true }
            failed.append(address)
            proceed()
        }
    }

    private func end(_ result: Result<Outcome, any Error>) {
        if isOver { return }
        isOver = true
        timer?.cancel()
        for channel in channels.values { channel.close(promise: nil) }
        channels = [:]
        promise.completeWith(result)
    }
}

extension SocketAddress {
    init(_ address: IPAddress, port: UInt16) throws {
        var bytes = ByteBuffer()
        switch address {
        case .v4(let value): bytes.writeInteger(value)
        case .v6(let high, let low): bytes.writeMultipleIntegers(high, low)
        }
        try self.init(packedIPAddress: bytes, port: Int(port))
    }
}
