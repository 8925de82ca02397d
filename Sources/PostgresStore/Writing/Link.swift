import Jobs
import PostgreSQL

/// The connection of one thread, made when it is first used, and again after it was lost.
///
/// - L1: While the server cannot be reached, only one try in ``pause`` is made; other requests fail at once.
final class Link {
    let url: String
    private let options: ConnectionOptions
    private var open: Connection?
    private var retryAt = ContinuousClock.now
    private var problem: PostgresError?
    private static let pause = Duration.seconds(1)
    /// The server for people: of several, the one that was connected last.
    private(set) var server: String

    /// Whether each new connection must keep what it commits in a power cut.
    var mustBeDurable = false

    /// Settings of a session, whatever the database or the role says. Functions of other schemas, which other roles may
    /// have created, are never called. Each statement sees what was committed before it.
    private static let settings = """
        SET search_path = pg_catalog, pg_temp; SET default_transaction_isolation = 'read committed'
        """

    /// - Parameters:
    ///   - answerTimeout: How long to wait for an answer, instead of the options' time.
    ///   - connectTimeout: How long to wait for a connection, instead of the options' time.
    init(
        to url: String, name: String, options: PostgresStoreOptions, answerTimeout: Duration? = nil,
        connectTimeout: Duration? = nil
    ) {
        self.url = url
        var connecting = ConnectionOptions()
        connecting.applicationName = name
        connecting.answerTimeout = answerTimeout ?? options.answerTimeout
        connecting.connectTimeout = connectTimeout ?? options.connectTimeout
        connecting.passwordFile = options.passwordFile
        self.options = connecting
        server = DatabaseAddress.postgresql(url: url).description
    }

    /// Opens another connection, which is closed with the last reference to it.
    func another() throws(PostgresError) -> Connection { try Connection(to: url, options: options) }

    var isOpen: Bool { open?.isOpen ?? false }

    /// Returns the connection. Connects if there is none, unless the last try was a moment ago.
    func connection() throws(PostgresError) -> Connection {
        if let open, open.isOpen { return open }
        open = nil
        if let problem, ContinuousClock.now < retryAt { throw problem }
        do throws(PostgresError) {
            let connection = try Connection(to: url, options: options)
            try connection.run(Self.settings)
            // The settings may have changed, and another server may have taken the place of the first one.
            if mustBeDurable, let setting = try connection.lossySetting() {
                throw PostgresError(
                    .unreachable, message: "The server has \(setting), so a power cut could lose accepted jobs.")
            }
            problem = nil
            open = connection
            server = connection.server
            return connection
        } catch {
            retryAt = .now + Self.pause
            problem = error
            throw error
        }
    }

    func close() { open = nil }
}
