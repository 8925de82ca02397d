import NIOCore
import NIOPosix
import Synchronization
import Web
import WebSyntax

/// A piece of the source as a sequence of buffers. One buffer is read ahead, on a thread that may block, and the digest
/// is computed while reading.
///
/// The first buffer has 256 KiB. Then the size follows the server's pace, between 16 KiB and 1 MiB, so that even a slow
/// server accepts a buffer within the idle limit. The memory budget may make buffers smaller.
struct UploadStream<Digest: ContentDigest>: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    static var bufferBytes: ClosedRange<Int> { BufferBudget.least...1 << 20 }

    private final class Reading: Sendable {
        let state: Mutex<State>
        /// Ends when the last buffer has been passed on, or when the stream stops.
        let end = AsyncStream.makeStream(of: Void.self)

        init(_ digest: Digest?, from offset: Int64, of source: UploadSource) {
            state = Mutex(State(phase: .open(source), hashed: Hashed(digest: digest, count: offset)))
        }
    }

    struct Hashed: Sendable {
        /// The digest; nil when none is needed.
        var digest: Digest?
        /// How many bytes of the source it covers.
        var count: Int64
    }

    private struct State {
        enum Phase {
            case open(UploadSource)
            /// All buffers have been passed on.
            case given
            case stopped
        }

        var phase: Phase
        var hashed: Hashed
        var failure: KindFailure?
        /// Since when the server has had bytes to accept; nil while the client reads from a slow disk or keeps to a
        /// bandwidth limit, which does not count as the server's time.
        var offeredAt: ContinuousClock.Instant?
        /// The memory of the buffer that was passed on last.
        var loan: BufferBudget.Loan?
        var ahead: Task<Filled, any Error>?

        var source: UploadSource? { if case .open(let source) = phase { source } else { nil } }
        var isGiven: Bool { if case .given = phase { true } else { false } }
    }

    private let piece: UploadRequest.Piece
    private let threads: NIOThreadPool
    private let progress: UploadProgress?
    private let throttle: Throttle
    private let buffers: BufferBudget
    private let reading: Reading
    private let expected: [UInt8]?
    /// Runs to its end before the first byte is passed on.
    private let beforeStart: (@Sendable () async -> Void)?

    /// - Parameters:
    ///   - digest: The digest of the source before the piece. Reading adds the piece to it. Nil if no digest is needed.
    ///   - expected: The digest that the whole source must have; nil if any digest is accepted.
    init(
        source: UploadSource, piece: UploadRequest.Piece, digest: Digest?, expected: [UInt8]?,
        threads: NIOThreadPool, progress: UploadProgress? = nil, throttle: Throttle = Throttle(bytesPerSecond: nil),
        buffers: BufferBudget, beforeStart: (@Sendable () async -> Void)? = nil
    ) {
        self.piece = piece
        self.threads = threads
        self.progress = progress
        self.throttle = throttle
        self.buffers = buffers
        self.expected = expected
        self.beforeStart = beforeStart
        reading = Reading(digest, from: piece.range.lowerBound, of: source)
        if case .file(let file) = source { file.adviseSequential() }
    }

    /// The digest of the source up to the last byte that was read.
    var hashed: Hashed { reading.state.withLock(\.hashed) }

    /// Whether all buffers have been passed on.
    var isGiven: Bool { reading.state.withLock(\.isGiven) }

    /// The reason why reading stopped before the end; nil if it did not.
    var failure: KindFailure? { reading.state.withLock(\.failure) }

    /// Stops the stream, since the exchange is over: it passes on no more buffers. Memory is released at once. The client
    /// may keep an iterator that it never calls again, since its writer is not resumed if the response arrives before
    /// the end of the body.
    ///
    /// - Returns: Whether all buffers had been passed on.
    @discardableResult func stop() -> Bool {
        reading.end.continuation.finish()
        return reading.state.withLock { state in
            defer { (state.phase, state.loan, state.ahead) = (.stopped, nil, nil) }
            return state.isGiven
        }
    }

    /// Waits until all buffers have been passed on, or the stream has stopped.
    func waitUntilGiven() async { for await _ in reading.end.stream {} }

    /// How much of the limit is left until the server must have accepted the bytes that were offered to it.
    func left(of limit: Duration) -> Duration {
        reading.state.withLock { $0.offeredAt.map { limit - (.now - $0) } } ?? limit
    }

    func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    private struct Filled: Sendable {
        let buffer: ByteBuffer
        let loan: BufferBudget.Loan
    }

    struct Iterator: AsyncIteratorProtocol {
        private let stream: UploadStream
        private var offset: Int64
        private var count = 256 << 10
        private var hasBegun = false
        private var hasEnded = false

        fileprivate init(stream: UploadStream) {
            self.stream = stream
            offset = stream.piece.range.lowerBound
        }

        mutating func next() async throws -> ByteBuffer? {
            do { return try await given() } catch {
                stream.reading.end.continuation.finish()
                throw error
            }
        }

        private mutating func given() async throws -> ByteBuffer? {
            let took = stream.reading.state.withLock { state in
                state.loan = nil
                return state.offeredAt.take().map { .now - $0 }
            }
            if let took {
                if took > .seconds(2) { count /= 2 } else if took < .milliseconds(250) { count *= 2 }
                count = Swift.min(
                    Swift.max(count, UploadStream.bufferBytes.lowerBound), UploadStream.bufferBytes.upperBound)
            }
            let buffer = try await buffer()
            let isLast = offset == stream.piece.range.upperBound && (hasEnded || stream.piece.suffix.isEmpty)
            try stream.reading.state.withLock { state in
                if case .stopped = state.phase { throw CancellationError() }
                if isLast { state.phase = .given }
                if buffer != nil { state.offeredAt = .now }
            }
            if isLast { stream.reading.end.continuation.finish() }
            return buffer
        }

        private mutating func buffer() async throws -> ByteBuffer? {
            if !hasBegun {
                hasBegun = true
                await stream.beforeStart?()
                if !stream.piece.prefix.isEmpty { return ByteBuffer(bytes: stream.piece.prefix) }
            }
            stream.progress?.reached(offset)
            let end = stream.piece.range.upperBound
            guard offset < end else {
                defer { hasEnded = true }
                return hasEnded || stream.piece.suffix.isEmpty ? nil : ByteBuffer(bytes: stream.piece.suffix)
            }
            let filled = try await (stream.reading.state.withLock { $0.ahead.take() } ?? read()).value
            let buffer = filled.buffer
            offset += Int64(buffer.readableBytes)
            let ahead = offset < end ? try read() : nil
            stream.reading.state.withLock { state in
                guard state.source != nil else { return }
                (state.loan, state.ahead) = (filled.loan, ahead)
            }
            try await stream.throttle.take(buffer.readableBytes)
            return buffer
        }

        private func read() throws -> Task<Filled, any Error> {
            let most = Int64(Swift.min(count, stream.throttle.bufferBytes))
            return try stream.read(at: offset, count: Int(Swift.min(most, stream.piece.range.upperBound - offset)))
        }
    }

    /// Begins to read a buffer. The iterator's next step awaits the task; if there is no next step, the task ends after
    /// this buffer.
    private func read(at offset: Int64, count: Int) throws -> Task<Filled, any Error> {
        guard let source = reading.state.withLock(\.source) else { throw CancellationError() }
        let loan = buffers.lend(count)
        let count = loan.bytes
        return Task {
            switch source {
            case .bytes(let bytes):
                let slice = bytes[Int(offset)..<Int(offset) + count]
                slice.withUnsafeBytes { bytes in
                    reading.state.withLock {
                        $0.hashed.digest?.update(bufferPointer: bytes)
                        $0.hashed.count += Int64(bytes.count)
                    }
                }
                return Filled(buffer: ByteBuffer(bytes: slice), loan: loan)
            case .file(let file):
                let result = try await threads.runAbandoningOnCancel { self.readFile(file, at: offset, count: count) }
                return Filled(buffer: try result.get(), loan: loan)
            }
        }
    }

    private func readFile(_ file: OpenFile, at offset: Int64, count: Int) -> Result<ByteBuffer, KindFailure> {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        var code: Int32 = 0
        var digest = hashed.digest
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
            var filled = 0
            while code == 0, filled < count {
                // Reads in small steps, so that the bytes are still in the processor's cache when their digest is
                // computed.
                let wanted = UnsafeMutableRawBufferPointer(
                    rebasing: space[filled..<Swift.min(filled + (128 << 10), count)])
                var read = 0
                code = file.fill(wanted, at: offset + Int64(filled), filled: &read)
                digest?.update(bufferPointer: UnsafeRawBufferPointer(rebasing: wanted[..<read]))
                filled += read
                if read < wanted.count { break }
            }
            return filled
        }
        var failure: KindFailure?
        if code != 0 {
            failure = file.unreadable(code)
        } else if buffer.readableBytes < count {
            failure = UploadSource.file(file).certainChange() ?? Self.shrunk(file)
        } else if offset + Int64(count) == piece.range.upperBound {
            // Checked before the last bytes are sent, since the server stores nothing without them. If there is no
            // digest here, the caller compares the content with a digest that it already has.
            let end = offset + Int64(count)
            failure =
                digest.map { UploadSource.file(file).changeFailure(sha256: $0.value, ofFirst: end) }
                ?? UploadSource.file(file).certainChange()
        }
        // As above, this is checked before the last bytes are sent.
        if failure == nil, offset + Int64(count) == file.size, let expected, let value = digest?.value,
            value != expected
        {
            failure = .unexpectedContent
        }
        if let failure {
            reading.state.withLock { $0.failure = failure }
            return .failure(failure)
        }
        reading.state.withLock { $0.hashed = Hashed(digest: digest, count: offset + Int64(count)) }
        return .success(buffer)
    }

    private static func shrunk(_ file: OpenFile) -> KindFailure {
        KindFailure(
            .sourceChanged,
            "\(file.name.printable) became shorter while it was being sent; upload it again when it is complete.",
            isRetryable: true)
    }
}
