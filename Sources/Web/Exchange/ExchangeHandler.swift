import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS

/// Carries out exchanges on one connection, one after the other.
///
/// 1. A connection has at most one exchange at a time.
/// 2. The connection returns to the pool only after it has sent a complete request and received the complete response.
/// 3. Bytes that belong to no response close the connection.
/// 4. A response with status 300 or above stops the sending of a body.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private enum Sending {
        case ended
        /// The number of bytes that are left.
        case body(Int64)
        // I4
        case stopped
    }

    private struct Current {
        let exchange: Exchange
        var sending: Sending
        var isKeptAlive = true
        var isAnswered = false
        var isReceived = false
    }

    /// If at most this many bytes of a body are left when a successful response has ended, they are still sent.
    private static let shortRest: Int64 = 1 << 20
    /// How long a connection waits for its next exchange.
    private static let rest = TimeAmount.seconds(15)

    private let pool: ConnectionPool
    private let idle: TimeAmount
    /// Completed when the TLS handshake has ended; nil after that, and without TLS.
    private var secured: EventLoopPromise<Void>?
    private var context: ChannelHandlerContext?
    private weak var connection: Connection?
    private var current: Current?
    private var reader: AnswerReader
    private var isReused = false
    /// Whether an exchange came before the current one.
    private var hasServed = false
    private var isClosing = false
    private var isReadHeld = false
    /// Resumes the task that sends the body. Set while the connection accepts no more bytes.
    private var writer: CheckedContinuation<Bool, Never>?
    private var lastActivity = NIODeadline.now()
    private var timer: (at: NIODeadline, scheduled: Scheduled<Void>)?

    init(pool: ConnectionPool, idle: TimeAmount, maxHeadBytes: Int, secured: EventLoopPromise<Void>?) {
        self.pool = pool
        reader = AnswerReader(maxHeadBytes: maxHeadBytes)
        self.secured = secured
        self.idle = idle
    }

    func serve(_ connection: Connection) { self.connection = connection }

    // MARK: Calls from tasks

    func start(_ exchange: Exchange, _ head: HTTPRequestHead, _ body: OutgoingBody?) {
        guard let context, context.channel.isActive, !isClosing, current == nil else {
            return exchange.fail(ConnectionError.closedBefore)
        }
        // The exchange was cancelled before its turn, so nothing was sent.
        guard !exchange.isOver else {
            noteActivity()
            if let connection { pool.giveBack(connection) }
            return
        }
        exchange.trace?.connected(isReused: isReused, tls: connection?.tls)
        hasServed = isReused
        isReused = true
        reader.requestSent(head.method)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        switch body {
        case .stream(_, let length)?: current = Current(exchange: exchange, sending: .body(length))
        case .bytes(let buffer)?:
            current = Current(exchange: exchange, sending: .ended)
            exchange.trace?.sent(buffer.readableBytes)
            context.write(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
            context.write(wrapOutboundOut(.end(nil)), promise: nil)
        case nil:
            current = Current(exchange: exchange, sending: .ended)
            context.write(wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.flush()
        noteActivity()
    }

    /// Whether this is the exchange in progress.
    func isAt(_ exchange: Exchange) -> Bool { current?.exchange === exchange }

    /// Sends a part of the body. `writer` resumes with true when the connection accepts more bytes, and with false when
    /// it needs no more.
    func send(_ buffer: ByteBuffer, of exchange: Exchange, _ writer: CheckedContinuation<Bool, Never>) {
        guard let context, current?.exchange === exchange, case .body(let left)? = current?.sending else {
            return writer.resume(returning: false)
        }
        guard left >= Int64(buffer.readableBytes) else {
            writer.resume(returning: false)
            return fail(ConnectionError.bodyLength)
        }
        current?.sending = .body(left - Int64(buffer.readableBytes))
        exchange.trace?.sent(buffer.readableBytes)
        self.writer = writer
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
        if context.channel.isWritable { resumeWriter(true) }
    }

    func endBody(of exchange: Exchange) {
        guard let context, current?.exchange === exchange, case .body(let left)? = current?.sending else { return }
        guard left == 0 else { return fail(ConnectionError.bodyLength) }
        current?.sending = .ended
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        noteActivity()
        finishIfComplete()
    }

    func readOn() {
        guard isReadHeld else { return }
        isReadHeld = false
        noteActivity()
        context?.read()
    }

    func abandon(_ exchange: Exchange) {
        guard current?.exchange === exchange else { return }
        fail(CancellationError())
    }

    // MARK: Events of the connection

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        endHandshake(.failure(ConnectionError.closed))
        self.context = nil
    }

    func read(context: ChannelHandlerContext) {
        guard current?.exchange.mayRead() ?? true else {
            isReadHeld = true
            return
        }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.receive(unwrapInboundIn(data))
        do throws(WireProblem) {
            while let part = try reader.next() { receive(part) }
        } catch {
            // Some servers send a body after the response to a HEAD request, and send it late. On a kept
            // connection, this body arrives where the next response should begin.
            let isOfTheLastAnswer = hasServed && current?.isAnswered == false && error == .notHTTP
            fail(isOfTheLastAnswer ? .surplus : error)
        }
    }

    private func receive(_ part: HTTPClientResponsePart) {
        guard let exchange = current?.exchange else { return }
        switch part {
        case .head(let head):
            current?.isAnswered = true
            exchange.interim?.hear(head)
            guard head.status.code >= 200 else { return }
            exchange.trace?.answered(head)
            current?.isKeptAlive = head.isKeepAlive
            if head.status.code >= 300, case .body? = current?.sending {
                current?.sending = .stopped
                resumeWriter(false)
            }
            exchange.receive(head)
        case .body(let buffer):
            exchange.trace?.received(buffer.readableBytes)
            exchange.receive(buffer)
        case .end:
            current?.isReceived = true
            finishIfComplete()
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        lastActivity = .now()
        current?.exchange.wake()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { resumeWriter(true) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event { endHandshake(.success(())) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        endHandshake(.failure(ConnectionError.closed))
        timer?.scheduled.cancel()
        if let connection { pool.remove(connection) }
        if let end = reader.close() { receive(end) }
        guard let current else { return }
        // A complete response counts, even if the server did not read the rest of the request.
        if current.isReceived { end(current) } else { fail(ConnectionError.closed) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        endHandshake(.failure(error))
        if case NIOSSLError.uncleanShutdown = error {
            // Many servers close without a TLS close_notify. This cannot truncate a response whose framing shows where
            // it ends.
            if reader.endsWithConnection { fail(ConnectionError.closed) }
            return
        }
        fail(error)
    }

    // MARK: Ends

    private func finishIfComplete() {
        guard let current, current.isReceived else { return }
        switch current.sending {
        // The server may respond with success before it has read the whole body. A short rest of the body is still
        // sent; a long rest is not.
        case .body(let left) where left <= Self.shortRest: return
        case .body, .stopped:
            end(current)
            close()
        case .ended:
            self.current = nil
            // The connection returns to the pool before the task resumes, so that the task's next request finds it.
            if current.isKeptAlive, let connection, context?.channel.isActive == true {
                noteActivity()
                // Reading may still be paused, since the task may not have taken the whole response yet.
                readOn()
                pool.giveBack(connection)
                current.exchange.finish()
            } else {
                current.exchange.finish()
                close()
            }
        }
    }

    private func end(_ exchange: Current) {
        current = nil
        resumeWriter(false)
        exchange.exchange.finish()
    }

    private func fail(_ error: any Error) {
        if let exchange = current?.exchange {
            current = nil
            exchange.fail(error)
        }
        resumeWriter(false)
        close()
    }

    /// Begins to close the connection. Over TLS, this lasts until the server agrees, or for some seconds if it does
    /// not. Until then, the channel counts as active, so the pool must not give the connection to another exchange.
    private func close() {
        isClosing = true
        if let connection { pool.withdraw(connection) }
        context?.close(promise: nil)
    }

    private func endHandshake(_ result: Result<Void, any Error>) {
        secured?.completeWith(result)
        secured = nil
    }

    private func resumeWriter(_ isWanted: Bool) {
        writer?.resume(returning: isWanted)
        writer = nil
    }

    // MARK: Time

    /// Postpones the time at which a connection without any traffic is closed. Moving a timer costs more than a
    /// request. So a timer that is set too early is not moved, but set again when it fires.
    private func noteActivity() {
        lastActivity = .now()
        let end = lastActivity + (current == nil ? Self.rest : idle)
        if let timer, timer.at <= end { return }
        setTimer(end)
    }

    private func setTimer(_ end: NIODeadline) {
        timer?.scheduled.cancel()
        guard let context else { return }
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: end) { self.timeIsUp() }
        timer = (end, scheduled)
    }

    private func timeIsUp() {
        timer = nil
        guard let context, context.channel.isActive else { return }
        guard let current else {
            let end = lastActivity + Self.rest
            if NIODeadline.now() >= end { close() } else { setTimer(end) }
            return
        }
        let end = lastActivity + idle
        // While a body is being sent, or while received bytes wait for the task, the client is not waiting for the
        // server. Uploads have a separate limit.
        var isTheirTurn = !isReadHeld
        if case .body = current.sending { isTheirTurn = false }
        if !isTheirTurn { return setTimer(.now() + idle) }
        if NIODeadline.now() >= end { fail(ConnectionError.idle) } else { setTimer(end) }
    }
}
