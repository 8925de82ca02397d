import ControlProtocol
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Opens connections and keeps idle ones for later exchanges.
final class ConnectionPool: Sendable {
    let path: String
    /// The thread for all connections that are not opened on a ``ThreadLoop``. It exists as long as the
    /// process. One thread is enough, since an exchange mostly waits for the daemon.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let idle = Mutex<[(connection: any ExchangeConnection, since: NIODeadline)]>([])

    /// Shorter than the daemon's own limit, so that the daemon does not close a connection just when the client
    /// uses it.
    private static let maxIdle = TimeAmount.seconds(20)

    init(path: String) { self.path = path }

    deinit {
        for kept in idle.withLock(\.self) { kept.connection.end() }
    }

    /// - Parameter fresh: Whether to always open a new connection.
    func take(
        fresh: Bool, for call: Call
    ) async throws -> (connection: any ExchangeConnection, isReused: Bool) {
        // A call that may take long must not block the thread.
        guard call.extraTime == .zero, ThreadLoop.mayBlock else {
            if !fresh, let kept = takeIdle() as? Connection { return (kept, true) }
            return (try await openOnLoop(), false)
        }
        if !fresh, let kept = takeIdle() { return (kept, true) }
        return (try BlockingConnection(path: path), false)
    }

    func takeForStream() async throws -> Connection {
        if let kept = takeIdle() as? Connection { return kept }
        return try await openOnLoop()
    }

    func open() async throws -> any ExchangeConnection {
        ThreadLoop.mayBlock ? try BlockingConnection(path: path) : try await openOnLoop()
    }

    private func takeIdle() -> (any ExchangeConnection)? {
        idle.withLock { idle in
            idle.removeAll { kept in
                if kept.connection.isOpen, NIODeadline.now() - kept.since <= Self.maxIdle { return false }
                kept.connection.end()
                return true
            }
            return idle.popLast()?.connection
        }
    }

    /// Connects on an event loop. While the socket's queue is full, the kernel makes only blocking callers
    /// wait, so this function tries again.
    private func openOnLoop() async throws -> Connection {
        let giveUpAt = NIODeadline.now() + .seconds(5)
        var group: any EventLoopGroup = Self.group
        if let loop = ThreadLoop.current { group = await loop.eventLoop() }
        while true {
            do {
                return try await Connection.open(path: path, on: group)
            } catch let error as IOError where error.errnoCode == EAGAIN && .now() < giveUpAt {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    func giveBack(_ connection: any ExchangeConnection) {
        idle.withLock { $0.append((connection, .now())) }
    }
}
