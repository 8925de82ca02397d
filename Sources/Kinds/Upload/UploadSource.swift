import Crypto
import Glibc
import OperationTypes
import Synchronization
import Web
import WebSyntax

/// The content to send. It can be read again from any offset.
enum UploadSource: Sendable {
    case file(OpenFile)
    case bytes([UInt8])

    var size: Int64 {
        switch self {
        case .file(let file): file.size
        case .bytes(let bytes): Int64(bytes.count)
        }
    }

    /// Identifies the content, so that an upload is resumed only with the same content. For content in memory, the
    /// identity is derived from its digest.
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

    /// The failure for a file that has certainly changed since it was opened; nil otherwise.
    func certainChange() -> KindFailure? {
        guard case .file(let file) = self, file.change() == .certain else { return nil }
        return .changed(file)
    }

    /// The failure for a file that has changed since it was opened; nil otherwise. If only the inode has changed, this
    /// reads the first bytes again: if they are the same, the change was a rename, new permissions or a new hard link,
    /// and does not count. Blocks.
    ///
    /// - Parameters:
    ///   - sha256: The digest of the bytes read so far.
    ///   - count: The number of bytes read so far. Later bytes are not compared.
    func changeFailure(sha256: [UInt8], ofFirst count: Int64) -> KindFailure? {
        guard case .file(let file) = self else { return nil }
        var change = file.change()
        // Gives up after a few rounds, in case a process changes the file's permissions over and over.
        for _ in 0..<4 {
            guard case .perhaps(let identity) = change else { break }
            guard let now = Self.digest(of: file, first: count) else { return file.unreadable(EIO) }
            change = file.change()
            if now != sha256 { return .changed(file) }
            if change == .perhaps(identity) {
                file.adopt(identity)
                return nil
            }
        }
        return change == .none ? nil : .changed(file)
    }

    /// The failure for a file that may have changed, even if only its inode has; nil otherwise.
    func untouchedFailure() -> KindFailure? {
        guard case .file(let file) = self, !isUntouched else { return nil }
        return .changed(file)
    }

    /// Whether the file is certainly untouched since its content was last compared.
    var isUntouched: Bool {
        guard case .file(let file) = self else { return true }
        return file.change() == .none
    }

    /// Returns the digest of the file's first bytes; nil if the file cannot be read.
    private static func digest(of file: OpenFile, first count: Int64) -> [UInt8]? {
        var sha256 = SHA256()
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { space.deallocate() }
        var offset: Int64 = 0
        while offset < count {
            let wanted = UnsafeMutableRawBufferPointer(rebasing: space[..<Int(min(Int64(space.count), count - offset))])
            var filled = 0
            guard file.fill(wanted, at: offset, filled: &filled) == 0 else { return nil }
            if filled == 0 { break }
            sha256.update(bufferPointer: UnsafeRawBufferPointer(rebasing: wanted[..<filled]))
            offset += Int64(filled)
        }
        return sha256.value
    }
}

extension KindFailure {
    fileprivate static func changed(_ file: OpenFile) -> KindFailure {
        KindFailure(
            .sourceChanged,
            "\(file.name.printable) changed while it was being sent; let its writer finish, then upload it again.",
            isRetryable: true)
    }
}

/// Reports the progress of an upload. The reported number never falls, even if bytes are sent again.
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
    /// The bytes that pairs of hexadecimal digits encode. Invalid pairs, and a single digit at the end, are skipped.
    var bytesFromHexadecimal: [UInt8] {
        let digits = Array(utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            guard let high = hexDigit(digits[index]), let low = hexDigit(digits[index + 1]) else { return nil }
            return high << 4 | low
        }
    }
}
