import CLinux
import Glibc
import Jobs
import OperationTypes

/// The socket for a program's `sd_notify` messages, at a path in its work folder.
///
/// Descriptors that arrive are closed at once, so that the barrier of `systemd-notify` ends.
final class NotifySocket {
    let descriptor: Int32
    let path: String

    /// A part of a message that concerns the job.
    enum Message: Hashable, Sendable {
        /// `STATUS=`, without line breaks.
        case status(String)
        /// `X_PROGRESS=`, from 0 to 1.
        case progress(Double)
        /// An invalid message or line: the problem as a clause for people, without hidden characters.
        case unreadable(String)
    }

    private static let maxBytes = 4096

    /// Nil if the path is too long for a socket, or if the socket cannot be created. The program then gets none.
    init?(at path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Reads one datagram without waiting.
    ///
    /// - Returns: Nil if there is none.
    func receive() -> [Message]? {
        var buffer = [UInt8](repeating: 0, count: Self.maxBytes)
        let length = halyard_receive(descriptor, &buffer, buffer.count)
        guard length >= 0 else { return nil }
        // A message that is too long is incomplete.
        guard length <= buffer.count else {
            return [.unreadable("a message has \(length) bytes; the limit is \(Self.maxBytes)")]
        }
        return Self.messages(in: String(decoding: buffer[..<length], as: UTF8.self))
    }

    static func messages(in text: String) -> [Message] {
        // Splits bytes, since Swift treats a carriage return and its line feed as one character.
        text.utf8.split(separator: 0x0A).map { Substring($0) }.compactMap { line in
            guard let equals = line.firstIndex(of: "=") else {
                return .unreadable("\"\(excerpt(line))\" is not an assignment, such as X_PROGRESS=0.4")
            }
            let value = line[line.index(after: equals)...]
            switch line[..<equals] {
            case "STATUS": return .status(String(value))
            case "X_PROGRESS":
                guard let part = Double(value), (0...1).contains(part) else {
                    return .unreadable("\"\(excerpt(line))\" is not a number from 0 to 1")
                }
                return .progress(part)
            // Other variables of the protocol, such as READY and BARRIER, have no effect.
            default: return nil
            }
        }
    }

    /// The beginning of a text, harmless on a terminal.
    private static func excerpt(_ text: Substring) -> String {
        let beginning = String(String.UnicodeScalarView(text.unicodeScalars.prefix(60))).withoutHiddenCharacters
        return text.unicodeScalars.count > 60 ? beginning + "…" : beginning
    }
}

extension OperationProgress {
    /// The progress of a program, as a part of 1.
    init(part: Double) { self.init(completed: Int64((part * 100).rounded(.down)), total: 100, unit: "percent") }
}
