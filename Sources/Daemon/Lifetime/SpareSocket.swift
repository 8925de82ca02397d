import Glibc
import Synchronization
import Systemd

/// A second descriptor of the passed socket until the daemon is ready, for callers of a start that fails.
final class SpareSocket: Sendable {
    private let descriptor: Mutex<CInt?>

    /// - Parameter sockets: Where several were passed, which fails the start, the first is used.
    init(_ sockets: Result<[PassedSocket], PassedSocketError>) {
        guard case .success(let passed) = sockets, let first = passed.first else {
            descriptor = Mutex(nil)
            return
        }
        let copy = fcntl(first.descriptor, F_DUPFD_CLOEXEC, 3)
        descriptor = Mutex(copy < 0 ? nil : copy)
    }

    var isOpen: Bool { descriptor.withLock { $0 != nil } }

    /// - Returns: Nil where no socket was passed, and when the daemon was ready.
    func take() -> CInt? { descriptor.withLock { $0.take() } }

    func close() { if let descriptor = take() { Glibc.close(descriptor) } }
}
