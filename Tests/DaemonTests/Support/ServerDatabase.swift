import Foundation
import PostgresServer
import Programs
import Testing

/// A database on a PostgreSQL server for one test. It is dropped with the value.
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

    // Losing this error is harmless: the server's folder is removed with the process.
    deinit { try? server.dropDatabase(url) }

    /// Asks the database through `psql`, as a person would: a line for each row, columns separated by bars. A view
    /// `job` shows the states of the jobs, like the table `job` of an SQLite database.
    func ask(_ query: String) async throws -> String {
        let names = "SET search_path = pg_temp, halyard; CREATE TEMPORARY VIEW job AS SELECT * FROM halyard.record"
        let answer = try await ChildProcess.run(
            "psql", ["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", names, "-c", query])
        try #require(answer.status == .exited(0), "psql: \(answer.errors)")
        return answer.output
    }
}
