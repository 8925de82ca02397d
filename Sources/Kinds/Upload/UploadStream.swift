import NIOCore
import NIOPosix
import Synchronization

/// A piece of the source in buffers, read ahead by one on a thread that may block, its digest taken on the way.
///
/// Buffers begin at 256 KiB and follow the server's pace between 16 KiB and 1 MiB, so that even a slow one takes one within
/// the limit on idling; a budget may make them smaller.
struct UploadStream<Digest: ContentDigest>: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    static var bufferBytes: ClosedRange<Int> { BufferBudget.least...1 << 20 }

    private final class Reading: Sendable {
        let hash: Mutex<Digest?>
        let failure = Mutex<KindFailure?>(nil)
        let hand = Mutex(Hand.open)
        init(_ hash: Digest?) { self.hash = Mutex(hash) }
    }

    private enum Hand { case open, everythingGiven, stopped }

    private let source: UploadSource
    private let piece: Transfer.Piece
    private let threads: NIOThreadPool
    private let progress: UploadProgress?
    private let throttle: Throttle
    private let buffers: BufferBudget
    private let reading: Reading
    /// Runs before the first byte.
    private let beforeStart: (@Sendable () async -> Void)?
    let turn = Turn()

    /// - Parameters:
    ///   - hash: Of what stands before the piece, which is added to it; nil for none.
    init(
        source: UploadSource, piece: Transfer.Piece, hash: Digest?,
        threads: NIOThreadPool, progress: UploadProgress? = nil, throttle: Throttle = Throttle(bytesPerSecond: nil),
        buffers: BufferBudget, beforeStart: (@Sendable () async -> Void)? = nil
    ) {
        self.source = source
        self.piece = piece
        self.threads = threads
        self.progress = progress
        self.throttle = throttle
        self.buffers = buffers
        self.beforeStart = beforeStart
        reading = Reading(hash)
        if case .file(let file) = source { file.adviseSequential() }
    }

    /// Of the source up to what was read so far, if that was wanted.
    func hash() -> Digest? { reading.hash.withLock { $0 } }

    /// Gives nothing more: the exchange is over.
    ///
    /// - Returns: Whether everything had been given.
    func stop() -> Bool {
        reading.hand.withLock { hand in
            defer { hand = .stopped }
            return hand == .everythingGiven
        }
    }

    /// Why reading stopped before the end, if it did.
    func failure() -> KindFailure? { reading.failure.withLock { $0 } }

    func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    private struct Filled: Sendable {
        let buffer: ByteBuffer
        let loan: BufferBudget.Loan
    }

    struct Iterator: AsyncIteratorProtocol {
        private let stream: UploadStream
        private var offset: Int64
        private var count = 256 << 10
        private var ahead: Task<Filled, any Error>?
        /// Of the buffer that was given last.
        private var loan: BufferBudget.Loan?
        private var hasBegun = false
        private var hasEnded = false

        fileprivate init(stream: UploadStream) {
            self.stream = stream
            offset = stream.piece.range.lowerBound
        }

        mutating func next() async throws -> ByteBuffer? {
            loan = nil
            if let took = stream.turn.becomesOurs() {
                if took > .seconds(2) { count /= 2 } else if took < .milliseconds(250) { count *= 2 }
                count = Swift.min(
                    Swift.max(count, UploadStream.bufferBytes.lowerBound), UploadStream.bufferBytes.upperBound)
            }
            let buffer = try await buffer()
            let isLast = offset == stream.piece.range.upperBound && (hasEnded || stream.piece.suffix.isEmpty)
            try stream.reading.hand.withLock { hand in
                if hand == .stopped { throw CancellationError() }
                if isLast { hand = .everythingGiven }
            }
            if buffer != nil { stream.turn.becomesTheirs() }
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
            let filled = try await (ahead ?? read()).value
            let buffer = filled.buffer
            loan = filled.loan
            offset += Int64(buffer.readableBytes)
            ahead = offset < end ? read() : nil
            try await stream.throttle.take(buffer.readableBytes)
            return buffer
        }

        private func read() -> Task<Filled, any Error> {
            let most = Int64(Swift.min(count, stream.throttle.bufferBytes))
            return stream.read(at: offset, count: Int(Swift.min(most, stream.piece.range.upperBound - offset)))
        }
    }

    /// The task is awaited by the iterator's next step; when that never comes it ends by itself after one buffer.
    private func read(at offset: Int64, count: Int) -> Task<Filled, any Error> {
        let loan = buffers.lend(count)
        let count = loan.bytes
        return Task {
            switch source {
            case .bytes(let bytes):
                let slice = bytes[Int(offset)..<Int(offset) + count]
                slice.withUnsafeBytes { bytes in reading.hash.withLock { $0?.update(bufferPointer: bytes) } }
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
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
            var filled = 0
            code = file.fill(UnsafeMutableRawBufferPointer(rebasing: space[..<count]), at: offset, filled: &filled)
            return filled
        }
        var failure: KindFailure?
        if code != 0 {
            failure = file.unreadable(code)
        } else if buffer.readableBytes < count {
            failure = source.changeFailure() ?? Self.shrunk(file)
        } else if offset + Int64(count) == piece.range.upperBound {
            // Looked at before the last bytes go: without them the server stores nothing.
            failure = source.changeFailure()
        }
        if let failure {
            reading.failure.withLock { $0 = failure }
            return .failure(failure)
        }
        buffer.withUnsafeReadableBytes { bytes in reading.hash.withLock { $0?.update(bufferPointer: bytes) } }
        return .success(buffer)
    }

    private static func shrunk(_ file: OpenFile) -> KindFailure {
        KindFailure(
            .sourceChanged, "\(file.name.printable) is shorter than it was; upload it again when it is complete.",
            isRetryable: true)
    }
}
