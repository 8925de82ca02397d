import SQLite
import SQLiteInspection
import Testing

@testable import SQLiteStore

/// No statement in a job's life builds a temporary table, and no constraint does: `state IN (3, 4, 5)` in a CHECK took
/// a third of every statement's time.
@Suite struct EphemeralTableTests {
    private static let temporary: Set<String> = ["OpenEphemeral", "OpenAutoindex", "SorterOpen"]

    private func writer(_ directory: TemporaryDirectory) throws -> Writer {
        let lock = try DatabaseLock.acquire(forDatabaseAt: directory.database)
        return try Opening(lock, StoreOptions(walBytes: 0)).writer()
    }

    /// Statements that change settings or delete rows, which are not part of a job's life, with the reason for the
    /// temporary table.
    private static let exceptions: [(beginning: String, reason: String)] = [
        ("SELECT   'definition', name", "lists what uses a queue, sorted"),
        ("DELETE FROM job WHERE id", "deletes the rows that refer to the job as well"),
        ("DELETE FROM job INDEXED BY job_graph", "collects the rows of a graph before it deletes them"),
    ]

    @Test func noStatementOfTheWriterBuildsATemporaryTable() throws {
        let directory = try TemporaryDirectory()
        let writer = try writer(directory)
        let statements = writer.connection.preparedTexts
        #expect(statements.count > 60)
        for text in statements where !Self.exceptions.contains(where: { text.description.hasPrefix($0.beginning) }) {
            let found = try Self.temporary.intersection(writer.connection.opcodes(of: text))
            #expect(found.isEmpty, "\(found.sorted()) in: \(text)")
        }
    }

    /// Also checks tables that the writer rarely writes, and columns that it does not write.
    @Test func noConstraintBuildsATemporaryTable() throws {
        let directory = try TemporaryDirectory()
        let connection = try writer(directory).connection
        let columns = try connection.prepare(
            """
            SELECT   schema.name, "column".name
            FROM     sqlite_schema AS schema
            JOIN     pragma_table_info(schema.name) AS "column"
            WHERE    schema.type = 'table'
            AND      schema.name NOT GLOB 'sqlite_*'
            ORDER BY 1
            """)
        var tables: [String: [String]] = [:]
        while try columns.step() { tables[columns.string(0), default: []].append(columns.string(1)) }
        #expect(tables.count >= 13)
        for (table, columns) in tables {
            let values = columns.map { _ in "?" }.joined(separator: ", ")
            let settings = columns.map { "\"\($0)\" = ?" }.joined(separator: ", ")
            for text in [
                "INSERT INTO \"\(table)\" VALUES (\(values))", "UPDATE \"\(table)\" SET \(settings) WHERE rowid = ?",
            ] {
                guard let opcodes = try? connection.opcodes(of: SQL(trusted: text)) else {
                    // A table without rowid has no such statement.
                    #expect(text.hasPrefix("UPDATE"))
                    continue
                }
                #expect(Self.temporary.isDisjoint(with: opcodes), "\(text)")
            }
        }
    }

    /// Tests the test: it finds the CHECK in its old form.
    @Test func aListOfThreeBuildsATemporaryTable() throws {
        let connection = try Connection(path: ":memory:", access: .readWriteCreate)
        try connection.execute(
            "CREATE TABLE job (state INTEGER, CHECK (CASE WHEN state IN (3, 4, 5) THEN 1 ELSE 0 END))")
        #expect(try connection.opcodes(of: "UPDATE job SET state = ?").contains("OpenEphemeral"))
    }
}
