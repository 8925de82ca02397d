import CPostgreSQL
import Glibc

/// A connection to a PostgreSQL server, used by one thread at a time.
///
/// Every call blocks its thread until the server has answered, or until ``ConnectionOptions/answerTimeout`` is over. So
/// it belongs on a thread of its own, never in Swift's shared pool. After an error whose cause is
/// ``PostgresError/Cause/lost`` the connection is closed, and every later call fails.
public final class Connection {
    private var connection: OpaquePointer?
    /// How long to wait for an answer before the connection counts as lost.
    public var answerTimeout: Duration
    private var prepared: Set<Int> = []
    private var later: [(statement: Statement, arguments: [Argument], answer: Answer)] = []
    /// The server for people: host, port and database, without a password.
    public let server: String

    /// Connects to a server.
    ///
    /// - Parameter url: A URL such as `postgresql://user@host/database`, or `name=value` pairs, as libpq accepts them.
    ///   What it leaves out comes from the usual environment (`PGHOST`, `~/.pgpass`). If it names several hosts, they are
    ///   tried in order.
    /// - Throws: ``PostgresError`` if the library is missing or no host accepts the connection in time.
    public init(to url: String, options: ConnectionOptions = ConnectionOptions()) throws(PostgresError) {
        if let problem = halyard_pq_load() {
            throw PostgresError(.noLibrary, message: String(cString: problem))
        }
        answerTimeout = options.answerTimeout
        let parameters = options.parameters(url: url, password: try options.readPassword())
        let connection = withCStrings(parameters.map(\.name)) { names in
            withCStrings(parameters.map(\.value)) { values in halyard_pq_connectdbParams(names, values, 1) }
        }
        guard let connection else { throw PostgresError(.unreachable, message: "There is no memory to connect.") }
        guard halyard_pq_status(connection) == Int32(HALYARD_PQ_CONNECTION_OK) else {
            let message = message(of: connection)
            halyard_pq_finish(connection)
            throw PostgresError(.unreachable, message: Self.withoutSecrets(message))
        }
        let host = String(cString: halyard_pq_host(connection))
        server =
            "\(host):\(String(cString: halyard_pq_port(connection)))/\(String(cString: halyard_pq_db(connection)))"
        self.connection = connection
        _ = halyard_pq_setnonblocking(connection, 1)
        // Notices are for people at a terminal; the default prints them to the standard error.
        _ = halyard_pq_setNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { if let connection { halyard_pq_finish(connection) } }

    /// Returns a message of libpq if it is about servers. Its messages about a URL quote parts of it, which may be parts of
    /// the password, such as one with an unescaped `@`, `/`, `,` or `%`. If one of several hosts looks like such a part, the
    /// others may be parts of the password too.
    private static func withoutSecrets(_ message: String) -> String {
        let isAboutServers = message.split(separator: "\n").allSatisfy { line in
            if line.hasPrefix("connection to server ") {
                return line.split(separator: "\"", maxSplits: 2).dropFirst().first?.contains("@") == false
            }
            if ["could not translate host name ", "password retrieved from file "].contains(where: line.hasPrefix) {
                return !line.contains("@")
            }
            // The other lines belong to the one before.
            return line.hasPrefix("\t") || line.hasPrefix("DETAIL: ") || line.hasPrefix("HINT: ")
        }
        return isAboutServers
            ? message
            : "The server's URL is invalid, or its host is unknown. "
                + "In a password, '%', '/', '@', ':', ',', '#' and '?' must be written as '%25', '%2F', and so on."
    }

    // MARK: Asking

    /// Runs constant statements without parameters, separated by semicolons.
    ///
    /// - Returns: The rows of the last statement, whose values are texts (``Row/string(_:)``).
    /// - Throws: ``PostgresError``. The statements before the one that failed are undone too.
    @discardableResult
    public func run(_ sql: String) throws(PostgresError) -> Rows {
        try runPutOff()
        let connection = try open()
        try sent(halyard_pq_sendQuery(connection, sql))
        return try answer()
    }

    /// Runs a statement with its arguments.
    ///
    /// - Returns: The rows of the answer.
    /// - Throws: ``PostgresError``.
    @discardableResult
    public func run(_ statement: Statement, _ arguments: [Argument] = []) throws(PostgresError) -> Rows {
        if later.isEmpty {
            try prepare(statement)
            try send(statement, arguments)
            return try answer()
        }
        let last = putOff(statement, arguments)
        try runPutOff(thenOwn: true)
        guard let rows = last.rows else { throw PostgresError(.unexpected, message: "The server answered nothing.") }
        return rows
    }

    /// Puts a statement off until the next one is run, so that both take one round trip.
    ///
    /// If a statement that was put off fails, the next call of ``run(_:_:)`` throws its error and does nothing else
    /// (``PostgresError/isOfEarlierStatement``).
    ///
    /// - Returns: The answer, which has rows after the next call of ``run(_:_:)``.
    @discardableResult
    public func putOff(_ statement: Statement, _ arguments: [Argument] = []) -> Answer {
        let answer = Answer()
        later.append((statement, arguments, answer))
        return answer
    }

    /// Forgets the statements that were put off.
    public func dropPutOff() { later = [] }

    /// Runs the statements that were put off, in one round trip.
    ///
    /// - Throws: ``PostgresError`` of the first statement that failed. Statements after it did not run.
    public func runPutOff() throws(PostgresError) { try runPutOff(thenOwn: false) }

    /// - Parameter own: Whether the last statement is the one for which the others were put off.
    private func runPutOff(thenOwn own: Bool) throws(PostgresError) {
        let batch = later
        if batch.isEmpty { return }
        later = []
        var failure: PostgresError?
        do throws(PostgresError) {
            for item in batch { try prepare(item.statement) }
        } catch {
            throw error.ofEarlierStatement
        }
        do throws(PostgresError) {
            let connection = try open()
            try sent(halyard_pq_enterPipelineMode(connection))
            for item in batch { try send(item.statement, item.arguments) }
            try sent(halyard_pq_pipelineSync(connection))
            for (index, item) in batch.enumerated() {
                let (rows, problem) = try readAnswer(connection)
                item.answer.rows = rows
                if let problem, failure == nil {
                    failure = own && index == batch.count - 1 ? problem : problem.ofEarlierStatement
                }
                try checkConnection(connection, problem)
            }
            try endPipeline(connection)
        } catch {
            // The server answers in order, and runs nothing after a statement that failed.
            throw failure?.isOfEarlierStatement == true ? error.ofEarlierStatement : error
        }
        if let failure { throw failure }
    }

    private func endPipeline(_ connection: OpaquePointer) throws(PostgresError) {
        try awaitResult(connection)
        let end = halyard_pq_getResult(connection)
        let isEnd = end != nil && halyard_pq_resultStatus(end) == Int32(HALYARD_PQ_PIPELINE_SYNC)
        halyard_pq_clear(end)
        guard isEnd, halyard_pq_exitPipelineMode(connection) == 1 else { throw close(message(of: connection)) }
    }

    private func prepare(_ statement: Statement) throws(PostgresError) {
        if prepared.contains(statement.number) { return }
        try sent(halyard_pq_sendPrepare(try open(), statement.name, statement.sql, 0, nil))
        try answer()
        prepared.insert(statement.number)
    }

    private func send(_ statement: Statement, _ arguments: [Argument]) throws(PostgresError) {
        let connection = try open()
        let lengths = arguments.map { Int32($0.bytes?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: arguments.count)
        let result = withArguments(arguments[...]) { values in
            halyard_pq_sendQueryPrepared(
                connection, statement.name, Int32(arguments.count), values, lengths, formats, 1)
        }
        try sent(result)
    }

    /// Whether no transaction is open.
    public var isIdle: Bool {
        connection.map { halyard_pq_transactionStatus($0) == Int32(HALYARD_PQ_TRANS_IDLE) } ?? true
    }

    /// Whether the connection was not lost yet, as far as is known.
    public var isOpen: Bool { connection != nil }

    /// The server's process that serves this connection.
    public var backend: Int32 { connection.map { halyard_pq_backendPID($0) } ?? 0 }

    /// The server's version as one number, such as 150020 for 15.20.
    public var serverVersion: Int { connection.map { Int(halyard_pq_serverVersion($0)) } ?? 0 }

    // MARK: Notifications

    /// Waits until the server has sent a notification (`LISTEN`), the other file can be read, or the time is over.
    ///
    /// - Parameter file: A file, such as an eventfd, by which another thread ends the wait.
    /// - Returns: The notifications that have arrived, possibly none.
    /// - Throws: ``PostgresError`` if the connection broke.
    public func notifications(orUntilReadable file: Int32, timeout: Duration) throws(PostgresError) -> [Notification] {
        let connection = try open()
        var found = try takeNotifications()
        if !found.isEmpty { return found }
        var files = [
            pollfd(fd: halyard_pq_socket(connection), events: Int16(POLLIN), revents: 0),
            pollfd(fd: file, events: Int16(POLLIN), revents: 0),
        ]
        // An interruption by a signal is an early end of the wait.
        _ = poll(&files, 2, Int32(clamping: timeout.wholeMilliseconds))
        if files[0].revents != 0 {
            if halyard_pq_consumeInput(connection) == 0 { throw close(message(of: connection)) }
            found = try takeNotifications()
        }
        return found
    }

    private func takeNotifications() throws(PostgresError) -> [Notification] {
        let connection = try open()
        var found: [Notification] = []
        while let next = halyard_pq_notifies(connection) {
            found.append(
                Notification(
                    channel: String(cString: next.pointee.relname), payload: String(cString: next.pointee.extra),
                    backend: next.pointee.be_pid))
            halyard_pq_freemem(next)
        }
        return found
    }

    /// Returns a value with which another thread can end the running statement.
    public func canceller() throws(PostgresError) -> Canceller { Canceller(halyard_pq_getCancel(try open())) }

    // MARK: Waiting for answers

    private func open() throws(PostgresError) -> OpaquePointer {
        guard let connection else { throw PostgresError(.lost, message: "The connection is closed.") }
        return connection
    }

    private func sent(_ result: Int32) throws(PostgresError) {
        if result != 1 { throw close(message(of: try open())) }
    }

    /// Reads the answer to the last request, up to its end.
    @discardableResult
    private func answer() throws(PostgresError) -> Rows {
        let connection = try open()
        let (rows, failure) = try readAnswer(connection)
        try checkConnection(connection, failure)
        if let failure { throw failure }
        guard let rows else { throw PostgresError(.unexpected, message: "The server answered nothing.") }
        return rows
    }

    /// Reads the answer to one request, up to its end.
    private func readAnswer(_ connection: OpaquePointer) throws(PostgresError) -> (Rows?, PostgresError?) {
        var last: Rows?
        var failure: PostgresError?
        while true {
            try awaitResult(connection)
            guard let result = halyard_pq_getResult(connection) else { break }
            switch Int(halyard_pq_resultStatus(result)) {
            case Int(HALYARD_PQ_COMMAND_OK), Int(HALYARD_PQ_TUPLES_OK), Int(HALYARD_PQ_EMPTY_QUERY):
                last = Rows(result)
            // An earlier statement of the same pipeline has failed.
            case Int(HALYARD_PQ_PIPELINE_ABORTED): halyard_pq_clear(result)
            default:
                failure = failure ?? PostgresError(result: result)
                halyard_pq_clear(result)
            }
        }
        return (last, failure)
    }

    /// Throws if the connection has broken, with the server's last message if there is one.
    private func checkConnection(_ connection: OpaquePointer, _ failure: PostgresError?) throws(PostgresError) {
        if halyard_pq_status(connection) == Int32(HALYARD_PQ_CONNECTION_OK) { return }
        throw close(failure?.message ?? message(of: connection), sqlState: failure?.sqlState ?? "")
    }

    private func awaitResult(_ connection: OpaquePointer) throws(PostgresError) {
        let deadline = ContinuousClock.now + answerTimeout
        while true {
            let unsent = halyard_pq_flush(connection)
            if unsent < 0 { throw close(message(of: connection)) }
            if unsent == 0, halyard_pq_isBusy(connection) == 0 { return }
            guard isReady(halyard_pq_socket(connection), isWriting: unsent > 0, until: deadline) else {
                throw close("The server did not answer within \(answerTimeout).")
            }
            if halyard_pq_consumeInput(connection) == 0 { throw close(message(of: connection)) }
        }
    }

    /// Closes the connection.
    ///
    /// - Returns: The error to throw.
    private func close(_ message: String, sqlState: String = "") -> PostgresError {
        if let connection { halyard_pq_finish(connection) }
        connection = nil
        prepared = []
        later = []
        return PostgresError(.lost, sqlState: sqlState, message: message)
    }
}

extension PostgresError {
    fileprivate init(result: OpaquePointer) {
        func field(_ field: Int) -> String? {
            halyard_pq_resultErrorField(result, Int32(field)).map { String(cString: $0) }
        }
        self.init(
            .refused, sqlState: field(Int(HALYARD_PQ_DIAG_SQLSTATE)) ?? "",
            message: field(Int(HALYARD_PQ_DIAG_MESSAGE)) ?? String(cString: halyard_pq_resultErrorMessage(result)),
            constraint: field(Int(HALYARD_PQ_DIAG_CONSTRAINT)))
    }

    fileprivate var ofEarlierStatement: PostgresError {
        var error = self
        error.isOfEarlierStatement = true
        return error
    }
}

private func message(of connection: OpaquePointer) -> String {
    var text = String(cString: halyard_pq_errorMessage(connection))
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
}

/// Waits until the file can be read, or written too if `isWriting`.
///
/// - Returns: False if the deadline has passed.
private func isReady(_ file: Int32, isWriting: Bool, until deadline: ContinuousClock.Instant) -> Bool {
    while true {
        let left = (deadline - .now).wholeMilliseconds
        if left <= 0 { return false }
        var files = [pollfd(fd: file, events: Int16(isWriting ? POLLIN | POLLOUT : POLLIN), revents: 0)]
        if poll(&files, 1, Int32(clamping: left)) > 0 { return true }
    }
}

/// Calls `body` with the C strings and a final NULL.
private func withCStrings<Value>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
) -> Value {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { UnsafePointer($0) } + [nil])
}

/// Calls `body` with a pointer to the bytes of each argument.
private func withArguments(
    _ arguments: ArraySlice<Argument>, _ pointers: [UnsafePointer<CChar>?] = [],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Int32
) -> Int32 {
    guard let first = arguments.first else { return body(pointers + [nil]) }
    guard let bytes = first.bytes else { return withArguments(arguments.dropFirst(), pointers + [nil], body) }
    return bytes.withUnsafeBytes { buffer in
        // An empty array may have no address, but NULL would be another value.
        guard let start = buffer.bindMemory(to: CChar.self).baseAddress else {
            return "".withCString { withArguments(arguments.dropFirst(), pointers + [$0], body) }
        }
        return withArguments(arguments.dropFirst(), pointers + [start], body)
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
