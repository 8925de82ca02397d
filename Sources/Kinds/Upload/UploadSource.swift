import Crypto
import NIOCore
import NIOPosix
import OperationTypes
import Synchronization

/// What is sent. It can be streamed again from anywhere.
enum UploadSource: Sendable {
    case file(OpenFile)
    case bytes([UInt8])

    var size: Int64 {
        switch self {
        case .file(let file): file.size
        case .bytes(let bytes): Int64(bytes.count)
        }
    }

    /// Not nil when the file is not what it was when it was opened.
    func changeFailure() -> KindFailure? {
        guard case .file(let file) = self, file.hasChanged() else { return nil }
        return KindFailure(
            .sourceChanged,
            "\(file.name.printable) changed while it was sent; let its writer finish, then upload it again.",
            isRetryable: true)
    }
}

/// Tells those who watch; counts never go back, also when something is sent again.
final class UploadProgress: Sendable {
    private let highest = Mutex<Int64>(-1)
    private let total: Int64
    private let context: OperationContext

    init(total: Int64, context: OperationContext) {
        self.total = total
        self.context = context
    }

    func reached(_ bytes: Int64) {
        let isNew = highest.withLock { highest in
            if bytes <= highest { return false }
            highest = bytes
            return true
        }
        if isNew { context.report(OperationProgress(completed: bytes, total: total, unit: "bytes")) }
    }
}

/// A piece of the source in buffers of 1 MiB, read ahead by one on a thread that may block, its digest taken on the way.
struct UploadStream: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    static let bufferBytes = 1 << 20

    private final class Reading: Sendable {
        let hash: Mutex<SHA256>
        let failure = Mutex<KindFailure?>(nil)
        init(_ hash: SHA256) { self.hash = Mutex(hash) }
    }

    private let source: UploadSource
    private let piece: Transfer.Piece
    private let threads: NIOThreadPool
    private let progress: UploadProgress
    private let throttle: Throttle
    private let reading: Reading

    /// - Parameter hash: Of what stands before the piece.
    init(
        source: UploadSource, piece: Transfer.Piece, hash: SHA256, threads: NIOThreadPool, progress: UploadProgress,
        throttle: Throttle
    ) {
        self.source = source
        self.piece = piece
        self.threads = threads
        self.progress = progress
        self.throttle = throttle
        reading = Reading(hash)
        if case .file(let file) = source { file.adviseSequential() }
    }

    /// Of the source up to what was read so far.
    func hash() -> SHA256 { reading.hash.withLock { $0 } }

    /// Why reading stopped before the end, if it did.
    func failure() -> KindFailure? { reading.failure.withLock { $0 } }

    func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let stream: UploadStream
        private var offset: Int64
        private var ahead: Task<ByteBuffer, any Error>?
        private var hasBegun = false
        private var hasEnded = false

        fileprivate init(stream: UploadStream) {
            self.stream = stream
            offset = stream.piece.range.lowerBound
        }

        mutating func next() async throws -> ByteBuffer? {
            if !hasBegun {
                hasBegun = true
                if !stream.piece.prefix.isEmpty { return ByteBuffer(bytes: stream.piece.prefix) }
            }
            stream.progress.reached(offset)
            guard offset < stream.piece.range.upperBound else {
                defer { hasEnded = true }
                return hasEnded || stream.piece.suffix.isEmpty ? nil : ByteBuffer(bytes: stream.piece.suffix)
            }
            let buffer = try await (ahead ?? stream.read(at: offset)).value
            offset += Int64(buffer.readableBytes)
            ahead = offset < stream.piece.range.upperBound ? stream.read(at: offset) : nil
            try await stream.throttle.take(buffer.readableBytes)
            return buffer
        }
    }

    /// The task is awaited by the iterator's next step; when that never comes it ends by itself after one buffer.
    private func read(at offset: Int64) -> Task<ByteBuffer, any Error> {
        let count = Int(Swift.min(Int64(Self.bufferBytes), piece.range.upperBound - offset))
        return Task {
            switch source {
            case .bytes(let bytes):
                let slice = bytes[Int(offset)..<Int(offset) + count]
                reading.hash.withLock { $0.update(data: slice) }
                return ByteBuffer(bytes: slice)
            case .file(let file):
                let result = try await threads.runAbandoningOnCancel { self.readFile(file, at: offset, count: count) }
                return try result.get()
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
        let failure: KindFailure? =
            code != 0
            ? file.unreadable(code) : buffer.readableBytes < count ? source.changeFailure() ?? Self.shrunk(file) : nil
        if let failure {
            reading.failure.withLock { $0 = failure }
            return .failure(failure)
        }
        buffer.withUnsafeReadableBytes { bytes in reading.hash.withLock { $0.update(bufferPointer: bytes) } }
        return .success(buffer)
    }

    private static func shrunk(_ file: OpenFile) -> KindFailure {
        KindFailure(
            .sourceChanged, "\(file.name.printable) is shorter than it was; upload it again when it is complete.",
            isRetryable: true)
    }
}

extension Sequence<UInt8> {
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
