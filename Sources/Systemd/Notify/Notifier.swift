import Glibc
import Synchronization

/// Sends the service's state to the service manager. Does nothing if no manager expects notifications.
///
/// If the manager is slow, the notifier waits up to two seconds to send a status or a watchdog message, and up
/// to half a minute for a change of state. If a message still cannot be sent, it is lost and reported to
/// `onFailure`; the service continues.
public final class Notifier: Sendable {
    private let socket: DatagramSocket?
    private let lastStatus = Mutex("")
    private let onFailure: @Sendable (NotifyError) -> Void

    /// Creates a notifier. If the address is invalid, reports that to `onFailure` and sends nothing.
    ///
    /// - Parameters:
    ///   - address: A path, or `@` and a name in the abstract namespace; nil to send nothing.
    ///   - onFailure: Called for each message that was lost.
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

    /// Whether there is a manager to send to.
    public var isHeard: Bool { socket != nil }

    /// Sends the messages as one datagram, so that the manager acts on all of them together. Blocks while the
    /// manager's queue is full.
    public func send(_ notifications: Notification...) {
        guard let socket else { return }
        do throws(NotifyError) {
            try socket.send(
                notifications.map(\.line).joined(separator: "\n") + "\n",
                tries: notifications.contains(where: \.mustArrive) ? 15 : 1)
        } catch {
            // Send the next status even if it equals the lost one.
            lastStatus.withLock { $0 = "" }
            onFailure(error)
        }
    }

    /// Sets the status line of `systemctl status`. Sends it only if it differs from the last one.
    public func status(_ text: String) {
        let isNew = lastStatus.withLock { last in
            defer { last = text }
            return last != text
        }
        if isNew { send(.status(text)) }
    }

    /// Sends `RELOADING=1` with the time. ``Notification/ready`` ends the reload.
    public func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send(.reloading(at: UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000))
    }
}

/// Why a message could not be sent to the service manager.
public enum NotifyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The address in `NOTIFY_SOCKET` is not valid.
    case badAddress(String)
    /// A system call failed.
    case failed(call: String, errno: Int32)

    public var description: String {
        switch self {
        case .badAddress(let address):
            "NOTIFY_SOCKET=\(address) is neither a path nor an abstract name of at most 107 bytes; systemd receives no notifications."
        case .failed(let call, let code):
            "systemd could not be notified: \(call): \(String(cString: strerror(code)))."
        }
    }
}
