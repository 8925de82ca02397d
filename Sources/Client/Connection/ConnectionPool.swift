import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Opens connections, and keeps those that are free for the next exchange.
final class ConnectionPool: Sendable {
    let path: String
    /// One thread for all connections that are opened elsewhere than on an event loop, as long as the process lives: an
    /// exchange waits for the daemon, not for the processor.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let idle = Mutex<[(connection: Connection, since: NIODeadline)]>([])

    /// Shorter than the daemon's own limit, so that it does not close a connection just as we use it.
    private static let maxIdle = TimeAmount.seconds(20)

    init(path: String) { self.path = path }

    deinit {
        for kept in idle.withLock(\.self) { kept.connection.end() }
    }

    /// - Parameter fresh: Never one that was used before.
    func take(fresh: Bool) async throws -> (connection: Connection, isReused: Bool) {
        let kept = idle.withLock { idle -> Connection? in
            idle.removeAll { !$0.connection.isOpen || NIODeadline.now() - $0.since > Self.maxIdle }
            return fresh ? nil : idle.popLast()?.connection
        }
        if let kept { return (kept, true) }
        return (try await open(), false)
    }

    /// Tries again while the socket's queue is full: the kernel makes only blocking callers wait.
    private func open() async throws -> Connection {
        let giveUpAt = NIODeadline.now() + .seconds(5)
        while true {
            do {
                return try await Connection.open(path: path, on: ThreadLoop.current ?? Self.group)
            } catch let error as IOError where error.errnoCode == EAGAIN && .now() < giveUpAt {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    func giveBack(_ connection: Connection) {
        idle.withLock { $0.append((connection, .now())) }
    }
}
