import PostgreSQL
import PostgresServer
import Testing

@testable import PostgresStore

/// Settings for the plans of a transaction, whatever the server has seen and whatever it prefers.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"))
struct PinnedPlansTests {
    @Test func readingAJobStartsNoProcesses() async throws {
        let database = try TestDatabase()
        await (try database.open()).close()
        let session = try Connection(to: database.url)
        // The server prefers parallel plans, as it does after having seen millions of deleted rows.
        try session.run(
            """
            SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
            SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0
            """)
        #expect(try plan(session).contains { $0.contains("Gather") })
        try session.run("BEGIN; \(PinnedPlans.sql)")
        #expect(try !plan(session).contains { $0.contains("Gather") })
        try session.run("ROLLBACK")
    }

    private func plan(_ session: Connection) throws -> [String] {
        let rows = try session.run(Statement("EXPLAIN SELECT * FROM halyard.record WHERE id = ANY ('{1,2}')"))
        return rows.map { $0.string(0) }
    }
}
