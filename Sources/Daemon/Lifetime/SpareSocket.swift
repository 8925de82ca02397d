import Glibc
import Synchronization
import Systemd

/// A second descriptor of the passed socket, open until the daemon is ready, so that a failed start can answer callers.
final class SpareSocket: Sendable {
    private let descriptor: Mutex<CInt?>

    /// - Parameter sockets: The passed sockets. If there are several, the start fails, and the callers of the first
    ///   socket get the reason.
    init(_ sockets: Result<[PassedSocket], PassedSocketError>) {
        guard case .success(let passed) = sockets, let first = passed.first else {
            descriptor = Mutex(nil)
            return
        }
        let copy = fcntl(first.descriptor, F_DUPFD_CLOEXEC, 3)
        descriptor = Mutex(copy < 0 ? nil : copy)
    }

    var isOpen: Bool { descriptor.withLock { $0 != nil } }

    /// - Returns: Nil if no socket was passed, and after the daemon has become ready.
    func take() -> CInt? { descriptor.withLock { $0.take() } }

    func close() { if let descriptor = take() { Glibc.close(descriptor) } }
}
