import Crypto
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

    /// Tells whether an upload goes on with the same content. That of bytes is made of their digest.
    var identity: OpenFile.Identity {
        switch self {
        case .file(let file): return file.identity
        case .bytes(let bytes):
            let words = SHA256.hash(data: bytes).withUnsafeBytes { digest in
                (0..<2).map { digest.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self) }
            }
            return OpenFile.Identity(device: 0, inode: 0, size: size, modifiedNs: words[0], changedNs: words[1])
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

extension Sequence<UInt8> {
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension String {
    /// Digits that make no pair are left out.
    var bytesFromHexadecimal: [UInt8] {
        let digits = Array(utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            guard let high = hexDigit(digits[index]), let low = hexDigit(digits[index + 1]) else { return nil }
            return high << 4 | low
        }
    }
}
