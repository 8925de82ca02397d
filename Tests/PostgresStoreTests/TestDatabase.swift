import Jobs
import PostgreSQL
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
        let store = try PostgresJobStore.open(url, options: options, clock: clock)
        if options.rangeJobs != PostgresStoreOptions().rangeJobs { try replaceFirstRanges(options.rangeJobs) }
        return store
    }

    /// Replaces the ranges of history of a new schema, before they contain a job.
    private func replaceFirstRanges(_ jobs: Int) throws {
        let usual = PostgresStoreOptions().rangeJobs
        let tables = ["job", "done", "dependency", "attempt"]
        let partitions = [1, usual + 1].flatMap { first in tables.map { "halyard.\($0)_from_\(first)" } }
        try Connection(to: url).run(
            """
            DO $$
            BEGIN
                LOCK TABLE halyard.range;
                IF (SELECT count(*) FROM halyard.range WHERE below = \(usual + 1)) = 0 THEN RETURN; END IF;
                DROP TABLE \(partitions.joined(separator: ", "));
                DELETE FROM halyard.range;
                PERFORM halyard.add_ranges(\(jobs + 1), \(jobs)), halyard.publish_ranges();
            END $$
            """)
    }
}

struct NoServer: Error {}

/// Whether tests can start a server. Without one they are skipped and listed.
let hasServer = PostgresServer.shared != nil
