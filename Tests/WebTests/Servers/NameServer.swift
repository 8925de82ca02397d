import NIOCore
import NIOPosix
import OperationTypes
import Samples
import Synchronization
import WebSyntax

@testable import Web

/// A loopback name server, over UDP and TCP, whose responses the test chooses, valid or not.
final class NameServer: Sendable {
    struct Question: Hashable, Sendable {
        var name: String
        var family: AddressFamily
        var isTCP: Bool
        var id: UInt16
        /// The encoded question, for responses that repeat it.
        var bytes: [UInt8]
    }

    enum Reply: Sendable {
        case addresses([String], ttl: UInt32 = 60)
        case none(ttl: UInt32? = nil)
        case noSuchName(ttl: UInt32? = nil)
        case status(UInt8)
        /// Only the header, with the truncation bit set.
        case truncated
        case silence
        /// A complete message.
        case raw([UInt8])
        /// Several messages in sequence.
        indirect case several([Reply])
        /// The reply, once the signal is sent.
        indirect case after(Signal, Reply)
        /// The reply with the ID of another query.
        indirect case withWrongID(Reply)

        static func table(_ all: [String], _ question: Question, ttl: UInt32 = 60) -> Reply {
            let fitting = all.filter { $0.contains(":") == (question.family == .v6) }
            return fitting.isEmpty ? .none() : .addresses(fitting, ttl: ttl)
        }
    }

    typealias Handler = @Sendable (Question) -> Reply

    private let log = Mutex<[Question]>([])
    private let watchers = Mutex<[(count: Int, signal: Signal)]>([])
    private let handler: Handler
    let port: UInt16

    var questions: [Question] { log.withLock(\.self) }
    /// Names of the A questions, in order of arrival.
    var names: [String] { questions.filter { $0.family == .v4 }.map(\.name) }

    /// Returns a signal that is sent once `count` questions have arrived.
    func asked(_ count: Int) -> Signal {
        let signal = Signal()
        watchers.withLock { $0.append((count, signal)) }
        notify()
        return signal
    }

    private init(port: UInt16, handler: @escaping Handler) {
        self.port = port
        self.handler = handler
    }

    /// Runs `body` with a name server on a loopback address.
    static func with<T>(
        host: String = "127.0.0.1", port: UInt16 = 0, _ handler: @escaping Handler,
        _ body: (NameServer) async throws -> T
    ) async throws -> T {
        let place = Mutex<NameServer?>(nil)
        let group = MultiThreadedEventLoopGroup.singleton
        let tcp = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Stream(place.withLock(\.self)))
                }
            }
            .bind(host: host, port: Int(port)).get()
        let bound = UInt16(tcp.localAddress?.port ?? 0)
        let server = NameServer(port: bound, handler: handler)
        place.withLock { $0 = server }
        let udp = try await DatagramBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Datagrams(server))
                }
            }
            .bind(host: host, port: Int(bound)).get()
        let result: Result<T, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        try await tcp.close().get()
        try await udp.close().get()
        place.withLock { $0 = nil }
        return try result.get()
    }

    private func notify() {
        let count = questions.count
        let reached = watchers.withLock { watchers in
            defer { watchers.removeAll { $0.count <= count } }
            return watchers.filter { $0.count <= count }
        }
        for watcher in reached { watcher.signal.open() }
    }

    fileprivate func hear(_ message: [UInt8], isTCP: Bool, send: @escaping @Sendable ([UInt8]) -> Void) {
        guard let question = Self.question(message, isTCP: isTCP) else { return }
        log.withLock { $0.append(question) }
        notify()
        perform(handler(question), question, send: send)
    }

    private func perform(_ reply: Reply, _ question: Question, send: @escaping @Sendable ([UInt8]) -> Void) {
        switch reply {
        case .silence: break
        case .several(let replies): for reply in replies { perform(reply, question, send: send) }
        case .after(let signal, let reply):
            // No task awaits this one; it ends with the test's signal.
            Task {
                await signal.uncancellableWait()
                self.perform(reply, question, send: send)
            }
        case .withWrongID(let reply):
            var other = question
            other.id &+= 1
            perform(reply, other, send: send)
        case .raw(let bytes): send(bytes)
        case .truncated: send(Self.message(question, flags: 0x8380, answers: [], authority: []))
        case .status(let code): send(Self.message(question, flags: 0x8180 | UInt16(code), answers: [], authority: []))
        case .none(let ttl): send(Self.message(question, flags: 0x8180, answers: [], authority: Self.origin(ttl)))
        case .noSuchName(let ttl): send(Self.message(question, flags: 0x8183, answers: [], authority: Self.origin(ttl)))
        case .addresses(let texts, let ttl):
            let records = texts.compactMap { IPAddress($0) }.map { address -> [UInt8] in
                Self.record([0xC0, 12], type: question.family.rawValue, ttl: ttl, Self.bytes(address))
            }
            send(Self.message(question, flags: 0x8180, answers: records, authority: []))
        }
    }

    private static func bytes(_ address: IPAddress) -> [UInt8] {
        switch address {
        case .v4(let value): (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
        case .v6(let high, let low):
            [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) } }
        }
    }

    /// The SOA record of a negative answer.
    private static func origin(_ ttl: UInt32?) -> [[UInt8]] {
        guard let ttl else { return [] }
        return [record([0], type: 6, ttl: ttl, [0, 0] + [UInt8](repeating: 0, count: 16) + number(ttl))]
    }

    static func record(_ owner: [UInt8], type: UInt16, ttl: UInt32, _ data: [UInt8]) -> [UInt8] {
        owner + [UInt8(type >> 8), UInt8(truncatingIfNeeded: type), 0, 1] + number(ttl)
            + [UInt8(data.count >> 8), UInt8(truncatingIfNeeded: data.count)] + data
    }

    static func message(_ question: Question, flags: UInt16, answers: [[UInt8]], authority: [[UInt8]]) -> [UInt8] {
        let counts = [1, UInt16(answers.count), UInt16(authority.count), 0]
        return [question.id, flags].flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
            + counts.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } + question.bytes
            + answers.joined() + authority.joined()
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
    }

    private static func question(_ message: [UInt8], isTCP: Bool) -> Question? {
        guard message.count > 12 else { return nil }
        var labels: [String] = []
        var position = 12
        while position < message.count, message[position] != 0 {
            let length = Int(message[position])
            guard position + length < message.count else { return nil }
            labels.append(String(decoding: message[(position + 1)...(position + length)], as: UTF8.self))
            position += 1 + length
        }
        guard position + 4 < message.count,
            let family = AddressFamily(rawValue: UInt16(message[position + 1]) << 8 | UInt16(message[position + 2]))
        else { return nil }
        return Question(
            name: labels.joined(separator: "."), family: family, isTCP: isTCP,
            id: UInt16(message[0]) << 8 | UInt16(message[1]), bytes: Array(message[12...(position + 4)]))
    }

    private final class Datagrams: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>
        typealias OutboundOut = AddressedEnvelope<ByteBuffer>
        private let server: NameServer

        init(_ server: NameServer) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            let channel = context.channel
            server.hear(Array(envelope.data.readableBytesView), isTCP: false) { bytes in
                channel.writeAndFlush(
                    AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: bytes)),
                    promise: nil)
            }
        }
    }

    private final class Stream: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let server: NameServer?
        private var received = ByteBuffer()

        init(_ server: NameServer?) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
            let channel = context.channel
            while let message = received.readLengthPrefixedSlice(as: UInt16.self) {
                server?.hear(Array(message.readableBytesView), isTCP: true) { bytes in
                    var buffer = ByteBuffer()
                    buffer.writeInteger(UInt16(bytes.count))
                    buffer.writeBytes(bytes)
                    channel.writeAndFlush(buffer, promise: nil)
                }
            }
        }
    }
}
