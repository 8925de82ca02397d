import NIOCore
import Synchronization
import WebSyntax

/// Idle connections, kept for later exchanges.
///
/// A connection serves only the scheme, host and port that it was opened for, and only while its address is among the
/// host's current vetted addresses. If there are idle connections to more than `maxOrigins` servers, the pool closes the
/// idle connections to the least recently used server.
final class ConnectionPool: Sendable {
    private struct Idle {
        var connections: [Connection] = []
        var lastUse: UInt64 = 0
    }

    private struct State {
        var idle: [Connection.Origin: Idle] = [:]
        var open: [ObjectIdentifier: Connection] = [:]
        var uses: UInt64 = 0
        var isShutDown = false

        mutating func withdraw(_ connection: Connection) {
            idle[connection.origin]?.connections.removeAll { $0 === connection }
            if idle[connection.origin]?.connections.isEmpty == true { idle[connection.origin] = nil }
        }
    }

    private let state = Mutex(State())
    private let maxOrigins: Int

    init(maxOrigins: Int) { self.maxOrigins = maxOrigins }

    /// Takes the most recently used idle connection to one of the addresses, preferably one on the caller's event loop.
    /// Returns nil if there is none.
    func take(_ origin: Connection.Origin, _ addresses: [IPAddress]) -> Connection? {
        state.withLock { state in
            guard let connections = state.idle[origin]?.connections,
                let index = connections.lastIndex(where: {
                    $0.channel.eventLoop.inEventLoop && addresses.contains($0.address)
                }) ?? connections.lastIndex(where: { addresses.contains($0.address) })
            else { return nil }
            if connections.count == 1 {
                state.idle[origin] = nil
            } else {
                state.idle[origin]?.connections.remove(at: index)
            }
            return connections[index]
        }
    }

    /// Registers a new connection, so that ``shutdown()`` closes it.
    ///
    /// - Returns: False after ``shutdown()``; the caller must then close the connection.
    func add(_ connection: Connection) -> Bool {
        state.withLock { state in
            if state.isShutDown { return false }
            state.open[ObjectIdentifier(connection)] = connection
            return true
        }
    }

    /// Returns a connection to the pool after its exchange. After ``shutdown()`` the connection is closed instead.
    func giveBack(_ connection: Connection) {
        let surplus = state.withLock { state -> [Connection] in
            if state.isShutDown { return [connection] }
            state.uses += 1
            state.idle[connection.origin, default: Idle()].connections.append(connection)
            state.idle[connection.origin]?.lastUse = state.uses
            guard state.idle.count > maxOrigins,
                let oldest = state.idle.min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return [] }
            state.idle[oldest.key] = nil
            return oldest.value.connections
        }
        for connection in surplus { connection.close() }
    }

    /// Forgets a connection that was closed.
    func remove(_ connection: Connection) {
        state.withLock { state in
            state.open[ObjectIdentifier(connection)] = nil
            state.withdraw(connection)
        }
    }

    /// Removes a connection that is about to be closed from the idle connections, so that no exchange takes it.
    func withdraw(_ connection: Connection) { state.withLock { $0.withdraw(connection) } }

    /// Closes every connection, and returns when all are closed.
    func shutdown() async {
        let open = state.withLock { state in
            state.isShutDown = true
            return Array(state.open.values)
        }
        for connection in open { connection.close() }
        // Losing an error is harmless: the connection is closed either way.
        for connection in open { try? await connection.channel.closeFuture.get() }
    }
}
