import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Opens connections, and keeps those that are free for the next exchange.
final class ConnectionPool: Sendable {
    let path: String
    /// One thread for all connections that are opened elsewhere than on a ``ThreadLoop``, as long as the process lives:
    /// an exchange waits for the daemon, not for the processor.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let idle = Mutex<[(connection: any ExchangeConnection, since: NIODeadline)]>([])

    /// Shorter than the daemon's own limit, so that it does not close a connection just as we use it.
    private static let maxIdle = TimeAmount.seconds(20)

    init(path: String) { self.path = path }

    deinit {
        for kept in idle.withLock(\.self) { kept.connection.end() }
    }

    /// - Parameter fresh: Never one that was used before.
    func take(
        fresh: Bool, for call: Call
    ) async throws -> (connection: any ExchangeConnection, isReused: Bool) {
        // A call that may take long must leave the thread to others.
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

    /// Tries again while the socket's queue is full: the kernel makes only blocking callers wait.
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
