import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// A loopback server whose answers depend on a seed and the path of the request.
///
/// It answers at any time: before, during or after the request.
final class HostileServer: Sendable {
    private let channel: any Channel
    let port: Int

    private init(_ channel: any Channel) {
        self.channel = channel
        port = channel.localAddress?.port ?? 0
    }

    /// - Parameter tls: Nil to speak plain HTTP.
    static func start(seed: UInt64, tls: NIOSSLContext?) async throws -> HostileServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        // Some connections break before or during the handshake.
                        try pipeline.addHandler(HostileHandshake(seed: seed))
                        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try pipeline.addHandler(HostileTalk(seed: seed))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return HostileServer(channel)
    }

    func stop() async throws { try await channel.close().get() }
}

extension UInt64 {
    /// A hash that is the same in every process.
    fileprivate func mixed(with text: some Sequence<UInt8>) -> UInt64 {
        text.reduce(self ^ 0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

private final class HostileHandshake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var random: SeededRandom?
    private let seed: UInt64

    init(seed: UInt64) { self.seed = seed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        var random = random ?? SeededRandom(seed: seed.mixed(with: bytes.readableBytesView.suffix(40)))
        defer { self.random = random }
        if random.chance(12) {
            let length = random.number(0...60)
            let garbage = random.bytes(length)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: garbage)), promise: nil)
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }
}

private final class HostileTalk: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let seed: UInt64
    private var received: [UInt8] = []
    private var count = 0
    private var steps: [HostileStep] = []
    private var isBusy = false

    init(seed: UInt64) { self.seed = seed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        // Keeps only the last 4096 bytes.
        if received.count > 4096 { received.removeFirst(received.count - 4096) }
        guard let line = received.firstIndex(of: UInt8(ascii: "\r")) else { return }
        let first = Array(received[..<line])
        let words = first.split(separator: UInt8(ascii: " "))
        guard words.count >= 2 else { return }
        let path = String(decoding: words[1], as: UTF8.self)
        count += 1
        if words[0].elementsEqual("CONNECT".utf8), count == 1 {
            received = []
            var random = SeededRandom(seed: seed.mixed(with: received) &+ UInt64(count))
            if !random.chance(8) {
                context.writeAndFlush(
                    wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")), promise: nil)
                return
            }
        }
        var random = SeededRandom(seed: seed.mixed(with: first[...]))
        // Answers at once, or when the request seems to be complete.
        let isComplete = received.suffix(4).elementsEqual("\r\n\r\n".utf8) || !words[0].starts(with: "P".utf8)
        if !isComplete, !random.chance(3) { return }
        received = []
        var answer = HostileAnswer(seed: random.next() &+ UInt64(count), path: String(path.prefix(200)))
        steps += answer.steps()
        proceed(context)
    }

    private func proceed(_ context: ChannelHandlerContext) {
        if isBusy { return }
        while !steps.isEmpty {
            switch steps.removeFirst() {
            case .send(let bytes): context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .close:
                context.close(promise: nil)
                return
            case .reset:
                let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                guard let socket = context.channel as? any SocketOptionProvider else { return }
                socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                    .whenComplete { _ in bound.value.close(promise: nil) }
                return
            case .pause(let milliseconds):
                isBusy = true
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {
                    let (talk, context) = bound.value
                    talk.isBusy = false
                    talk.proceed(context)
                }
                return
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
