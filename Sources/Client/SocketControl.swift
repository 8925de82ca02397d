import Control
import Jobs
import NIOCore
import NIOHTTP1
import Synchronization

/// Every verb through the daemon's control socket.
///
/// Connections are opened when needed and used again. Each verb answers within ``timeout`` or fails; streams last as long
/// as they are read. Cancelling the caller's task ends the exchange.
public final class SocketControl: JobControl {
    public let path: String
    public let timeout: Duration
    let pool: ConnectionPool
    private let database = Mutex<String?>(nil)

    /// As the last answer named it.
    public var databasePath: String? { database.withLock(\.self) }

    func readDatabase(from head: HTTPResponseHead) {
        guard let value = head.headers.first(name: DatabaseHeader.name) else { return }
        let path = DatabaseHeader.path(in: value)
        database.withLock { $0 = path }
    }

    /// Opens nothing yet.
    public init(path: String, timeout: Duration = .seconds(30)) {
        self.path = path
        self.timeout = timeout
        pool = ConnectionPool(path: path)
    }

    /// Opens a connection for the first verb to use, and so tells at once whether a daemon listens.
    ///
    /// - Throws: `noDaemon` when nobody does, `permission` when this user may not connect.
    public func connect() async throws(ControlProblem) {
        do {
            pool.giveBack(try await pool.take(fresh: true).connection)
        } catch {
            throw ControlProblem(connecting: error, to: path)
        }
    }

    /// Sends a call and reads its response.
    ///
    /// A daemon that restarts may close the connection before it answers. A repeatable call is then sent again; if
    /// systemd holds the socket open, it waits for the next daemon.
    func send(_ call: Call) async throws(ControlProblem) -> Answer {
        let head = call.head
        let size = head.uri.utf8.count
        guard size <= Call.maxAddressBytes else {
            throw ControlProblem(
                .tooLarge,
                "The names and values of the request have \(size) bytes; at most \(Call.maxAddressBytes) fit. Shorten them."
            )
        }
        let giveUpAt = NIODeadline.now() + TimeAmount(timeout + call.extraTime)
        var lost = 0
        var loss: (any Error)?
        while true {
            let connection: Connection
            let isReused: Bool
            do {
                (connection, isReused) = try await pool.take(fresh: lost > 0)
            } catch {
                // The daemon may have carried out the earlier try.
                if let loss { throw ControlProblem(during: call, error: loss) }
                throw ControlProblem(connecting: error, to: path)
            }
            let deadline = connection.setDeadline(at: giveUpAt)
            defer { deadline.cancel() }
            connection.send(head, body: call.body)
            do {
                return try await readAnswer(on: connection)
            } catch {
                connection.end()
                guard call.isRepeatable, ConnectionEnd.isLoss(error), lost < Self.maxLost, .now() < giveUpAt else {
                    throw ControlProblem(during: call, error: error)
                }
                loss = error
                // The daemon may close a kept connection at any time, so its loss does not count.
                if !isReused { lost += 1 }
            }
        }
    }

    /// How often a lost call is repeated: more often than restarts explain, but not forever, since the call itself may
    /// crash the daemon.
    static let maxLost = 3

    /// Reads one response whole and, if it can be used again, keeps the connection.
    ///
    /// - Parameter takesPart: Whether a body that ends early is of use; ``Answer/failure`` then says why it did.
    func readAnswer(
        on connection: Connection, keeping: Bool = true, takesPart: Bool = false
    ) async throws -> Answer {
        var response = connection.response
        let head = try await response.head()
        return try await readRest(
            of: head, from: &response, on: connection, keeping: keeping, takesPart: takesPart)
    }

    func readRest(
        of head: HTTPResponseHead, from response: inout Connection.Response, on connection: Connection, keeping: Bool,
        takesPart: Bool = false
    ) async throws -> Answer {
        readDatabase(from: head)
        var answer = Answer(status: head.status.code, body: [])
        while true {
            do {
                switch try await response.next() {
                case .body(let part): answer.body.append(contentsOf: part.readableBytesView)
                case .end:
                    if keeping, head.isKeepAlive { pool.giveBack(connection) } else { connection.end() }
                    return answer
                case .head: throw ConnectionEnd.closed
                }
            } catch {
                connection.end()
                guard takesPart else { throw error }
                answer.failure = error
                return answer
            }
        }
    }

    func value<Value: WireValue>(
        of call: Call, as type: Value.Type = Value.self
    ) async throws(ControlProblem) -> Value {
        try await send(call).value()
    }

    func carryOut(_ call: Call) async throws(ControlProblem) {
        let answer = try await send(call)
        guard answer.isSuccess else { throw answer.problem }
    }
}
