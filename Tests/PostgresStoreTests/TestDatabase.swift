import Jobs
import PostgresServer
import PostgresStore

/// A database for one test, removed with it.
final class TestDatabase: Sendable {
    let url: String
    private let server: PostgresServer
    /// The URL of another database of the same server.
    var serverURL: String { server.url }

    init() throws {
        guard let server = PostgresServer.shared else { throw NoServer() }
        self.server = server
        url = try server.makeDatabase()
    }

    deinit {
        // The server's folder is removed with the process, and the database with it.
        try? server.dropDatabase(url)
    }

    func open(
        _ options: PostgresStoreOptions = PostgresStoreOptions(), clock: (any StoreClock)? = nil
    ) throws -> PostgresJobStore {
        try PostgresJobStore.open(url, options: options, clock: clock)
    }
}

struct NoServer: Error {}

/// Whether tests can start a server. Without one they are skipped and listed.
let hasServer = PostgresServer.shared != nil
