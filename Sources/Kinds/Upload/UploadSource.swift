import Crypto
import NIOCore
import NIOPosix
import OperationTypes
import Synchronization

/// What is sent. It can be streamed again from its start.
enum UploadSource: Sendable {
    case file(OpenFile)
    case bytes([UInt8])

    var size: Int64 {
        switch self {
        case .file(let file): file.size
        case .bytes(let bytes): Int64(bytes.count)
        }
    }

    func stream(threads: NIOThreadPool, progress: UploadProgress) -> UploadStream {
        UploadStream(source: self, threads: threads, progress: progress)
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

/// Tells those who watch; counts never go back, also when a redirect makes the sending start again.
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

/// The source in pieces of 1 MiB, read ahead by one on a thread that may block, its digest taken on the way.
struct UploadStream: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    static let pieceBytes = 1 << 20

    private final class Reading: Sendable {
        let hash = Mutex(SHA256())
        let failure = Mutex<KindFailure?>(nil)
    }

    private let source: UploadSource
    private let threads: NIOThreadPool
    private let progress: UploadProgress
    private let reading = Reading()

    init(source: UploadSource, threads: NIOThreadPool, progress: UploadProgress) {
        self.source = source
        self.threads = threads
        self.progress = progress
        if case .file(let file) = source { file.adviseSequential() }
    }

    /// Of what was read so far.
    func digest() -> SHA256Digest { reading.hash.withLock { $0.finalize() } }

    /// Why reading stopped before the end, if it did.
    func failure() -> KindFailure? { reading.failure.withLock { $0 } }

    func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let stream: UploadStream
        private var offset: Int64 = 0
        private var ahead: Task<ByteBuffer, any Error>?

        fileprivate init(stream: UploadStream) { self.stream = stream }

        mutating func next() async throws -> ByteBuffer? {
            stream.progress.reached(offset)
            let left = stream.source.size - offset
            if left <= 0 { return nil }
            let piece = try await (ahead ?? stream.read(at: offset)).value
            offset += Int64(piece.readableBytes)
            ahead = offset < stream.source.size ? stream.read(at: offset) : nil
            return piece
        }
    }

    /// The task is awaited by the iterator's next step; when that never comes it ends by itself after one piece.
    private func read(at offset: Int64) -> Task<ByteBuffer, any Error> {
        let count = Int(Swift.min(Int64(Self.pieceBytes), source.size - offset))
        return Task {
            switch source {
            case .bytes(let bytes):
                let piece = bytes[Int(offset)..<Int(offset) + count]
                reading.hash.withLock { $0.update(data: piece) }
                return ByteBuffer(bytes: piece)
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
