import Foundation
import PostgresServer
import Programs
import Testing

/// The database of one test on a PostgreSQL server, removed with the value.
///
/// `scripts/test` runs the tests of some suites again with `HALYARD_TEST_STORE=postgresql`.
final class ServerDatabase: Sendable {
    let url: String
    private let server: PostgresServer

    static let isWanted = ProcessInfo.processInfo.environment["HALYARD_TEST_STORE"] == "postgresql"

    struct NoServer: Error, CustomStringConvertible {
        var description: String { "PostgreSQL is not installed" }
    }

    init() throws {
        guard let server = PostgresServer.shared else { throw NoServer() }
        self.server = server
        url = try server.makeDatabase()
    }

    // The server's folder is removed with the process, and the database with it.
    deinit { try? server.dropDatabase(url) }

    /// Asks the database through `psql`, as a person would: a line for each row, columns separated by bars. The table
    /// `job` has the states of the jobs, as that of an SQLite database.
    func ask(_ query: String) async throws -> String {
        let names = "SET search_path = pg_temp, halyard; CREATE TEMPORARY VIEW job AS SELECT * FROM halyard.record"
        let answer = try await ChildProcess.run(
            "psql", ["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", names, "-c", query])
        try #require(answer.status == .exited(0), "psql: \(answer.errors)")
        return answer.output
    }
}
