import Jobs
import PostgreSQL

/// The connection of one thread, made again after it was lost.
///
/// - L1: While the server cannot be reached, only one try in ``pause`` is made; other requests fail at once.
final class Link {
    let url: String
    private let options: ConnectionOptions
    private var open: Connection?
    private var retryAt = ContinuousClock.now
    private var problem: PostgresError?
    private static let pause = Duration.seconds(1)
    /// The server for people.
    let server: String

    init(to url: String, name: String, options: PostgresStoreOptions) throws(PostgresOpenError) {
        self.url = url
        var connecting = ConnectionOptions()
        connecting.applicationName = name
        connecting.answerTimeout = options.answerTimeout
        connecting.connectTimeout = options.connectTimeout
        self.options = connecting
        do throws(PostgresError) {
            let connection = try Connection(to: url, options: connecting)
            server = connection.server
            open = connection
        } catch {
            throw PostgresOpenError(error, server: DatabaseAddress.postgresql(url: url).description)
        }
    }

    var isOpen: Bool { open?.isOpen ?? false }

    /// Returns the connection. Connects again if it was lost, unless the last try was a moment ago.
    func connection() throws(PostgresError) -> Connection {
        if let open, open.isOpen { return open }
        open = nil
        if let problem, ContinuousClock.now < retryAt { throw problem }
        do throws(PostgresError) {
            let connection = try Connection(to: url, options: options)
            problem = nil
            open = connection
            return connection
        } catch {
            retryAt = .now + Self.pause
            problem = error
            throw error
        }
    }

    func close() { open = nil }
}
