import Glibc
import Synchronization

/// Sends the service's state to the service manager; does nothing without a manager that listens.
///
/// If the manager is slow, a message that the next one replaces waits for two seconds, and a change of state for half a
/// minute. If it still cannot be sent, it is lost and reported to `onFailure`; the service continues.
public final class Notifier: Sendable {
    private let socket: DatagramSocket?
    private let lastStatus = Mutex("")
    private let onFailure: @Sendable (NotifyError) -> Void

    /// - Parameter address: A path, or `@` and a name in the abstract namespace; nil to send nothing.
    public convenience init(_ address: String?, onFailure: @escaping @Sendable (NotifyError) -> Void = { _ in }) {
        self.init(address, patience: .seconds(2), onFailure: onFailure)
    }

    init(_ address: String?, patience: Duration, onFailure: @escaping @Sendable (NotifyError) -> Void) {
        self.onFailure = onFailure
        do throws(NotifyError) {
            socket = try address.map { address throws(NotifyError) in
                try DatagramSocket(to: address, patience: patience)
            }
        } catch {
            socket = nil
            onFailure(error)
        }
    }

    public var isHeard: Bool { socket != nil }

    /// Sends the messages as one datagram, so that the manager acts on all of them together.
    public func send(_ notifications: Notification...) {
        guard let socket else { return }
        do throws(NotifyError) {
            try socket.send(
                notifications.map(\.line).joined(separator: "\n") + "\n",
                tries: notifications.contains(where: \.mustArrive) ? 15 : 1)
        } catch {
            // A status that was lost may be said again.
            lastStatus.withLock { $0 = "" }
            onFailure(error)
        }
    }

    /// The line of `systemctl status`; sent only when it differs from the last one.
    public func status(_ text: String) {
        let isNew = lastStatus.withLock { last in
            defer { last = text }
            return last != text
        }
        if isNew { send(.status(text)) }
    }

    /// `RELOADING=1` with the moment; ``Notification/ready`` ends it.
    public func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send(.reloading(at: UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000))
    }
}

public enum NotifyError: Error, Sendable, Hashable, CustomStringConvertible {
    case badAddress(String)
    case failed(call: String, errno: Int32)

    public var description: String {
        switch self {
        case .badAddress(let address):
            "NOTIFY_SOCKET=\(address) is neither a path nor an abstract name of at most 107 bytes; systemd is not told."
        case .failed(let call, let code):
            "systemd could not be told: \(call): \(String(cString: strerror(code)))."
        }
    }
}
