import ControlProtocol
import Jobs
import NIOCore
import Synchronization

/// Carries out every verb through the daemon's control socket.
///
/// It opens connections when it needs them and reuses them. Each verb returns or fails within ``timeout``;
/// streams last as long as they are read. Cancelling the calling task ends the exchange, unless the exchange
/// blocks a ``ThreadLoop``.
public final class SocketControl: CallingControl {
    /// The path of the daemon's socket.
    public let path: String
    /// The time limit for one verb. A verb that waits or deletes rows may take longer.
    public let timeout: Duration
    let pool: ConnectionPool
    private let database = Mutex<String?>(nil)

    /// The path of the database, as given in the daemon's last answer; nil before the first answer.
    public var databasePath: String? { database.withLock(\.self) }

    func readDatabase(from field: String?) {
        guard let field else { return }
        let path = DatabaseHeader.path(in: field)
        database.withLock { $0 = path }
    }

    /// Creates a client. It opens no connection until a verb needs one.
    public init(path: String, timeout: Duration = .seconds(30)) {
        self.path = path
        self.timeout = timeout
        pool = ConnectionPool(path: path)
    }

    /// Opens a connection and keeps it for the first verb, so that the caller learns at once whether a daemon
    /// listens.
    ///
    /// - Throws: `ControlProblem`: `noDaemon` if nobody listens, `permission` if this user may not connect.
    ///   Retrying is safe.
    public func connect() async throws(ControlProblem) {
        do {
            pool.giveBack(try await pool.open())
        } catch {
            throw ControlProblem(connecting: error, to: path)
        }
    }

    public func send(_ call: Call) async throws(ControlProblem) -> [UInt8] {
        try await exchange(call).successBody
    }

    /// Sends a call and reads its response.
    ///
    /// A daemon that restarts may close the connection before it answers. The client then sends a repeatable call
    /// again. If systemd holds the socket open, the call waits for the next daemon.
    func exchange(_ call: Call) async throws(ControlProblem) -> Answer {
        let size = call.target.utf8.count
        guard size <= Call.maxAddressBytes else {
            throw ControlProblem(
                .tooLarge,
                "The names and values of the request have \(size) bytes; the limit is \(Call.maxAddressBytes). Shorten them."
            )
        }
        let giveUpAt = NIODeadline.now() + TimeAmount(timeout + call.extraTime)
        var lost = 0
        var loss: (any Error)?
        while true {
            let connection: any ExchangeConnection
            let isReused: Bool
            do {
                (connection, isReused) = try await pool.take(fresh: lost > 0, for: call)
            } catch {
                // The daemon may have carried out the earlier try.
                if let loss { throw ControlProblem(during: call, error: loss) }
                throw ControlProblem(connecting: error, to: path)
            }
            do {
                let answer = try await connection.exchange(call, until: giveUpAt)
                if answer.keepsConnection { pool.giveBack(connection) } else { connection.end() }
                readDatabase(from: answer.database)
                return answer
            } catch {
                connection.end()
                guard call.isRepeatable, ConnectionError.isLoss(error), lost < Self.maxLost, .now() < giveUpAt else {
                    throw ControlProblem(during: call, error: error)
                }
                loss = error
                // The daemon may close a kept connection at any time, so its loss does not count.
                if !isReused { lost += 1 }
            }
        }
    }

    /// How often in a row the client sends a lost call again. A restart should need fewer tries, but there must be
    /// a limit, since the call itself may crash the daemon.
    static let maxLost = 3
}
