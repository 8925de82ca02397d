import Foundation
import Moving
import SQLite
import Testing

@testable import SQLiteStore

/// A move reads every column of the schema, or a reason is given here why it does not.
@Suite struct MovedColumnsTests {
    private static let moved: [String: Facts] = [
        "meta": .numbers, "queue": .queues, "kind": .kinds, "definition": .definitions,
        "graph_definition": .graphDefinitions, "schedule": .schedules, "graph": .graphs, "job": .jobs,
        "job_input": .jobs, "result": .jobs, "dependency": .dependencies, "attempt": .attempts, "idempotency": .keys,
        "checkpoint": .checkpoints, "tally": .counts,
    ]

    /// Why a table or a column is not moved.
    private static let exceptions = [
        "clock": "moved as MoveClock",
        "daemon": "each daemon registers itself when it starts",
        "staged_part": "the source completes it before the move", "settling": "the source completes it before the move",
        "cancelling": "the source completes it before the move", "pruning": "the source completes it before the move",
        "meta.settings_version": "counts changes within one database",
        "definition.problem": "each daemon finds it again", "graph_definition.problem": "each daemon finds it again",
        "job.holder_id": "no job is running (M4)", "result.outcome": "equals job.state",
        "result.finished_ms": "equals job.finished_ms", "tally.steady_ms": "moved as MoveClock.seen",
    ]

    @Test func everyColumnIsMovedOrHasAReason() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "halyard-columns-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A leftover in the temporary folder harms nobody.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/halyard.db"
        let store = try SQLiteJobStore.open(
            DatabaseLock.acquire(forDatabaseAt: path), options: StoreOptions(walBytes: 0, watchesFiles: false))
        await store.close()
        let connection = try Connection(path: path, access: .readWrite)
        let columns = try connection.prepare(
            """
            SELECT schema.name, info.name
            FROM   sqlite_schema AS schema, pragma_table_info(schema.name) AS info
            WHERE  schema.type = 'table' AND schema.name NOT LIKE 'sqlite~_%' ESCAPE '~'
            """
        ).all { (table: $0.string(0), column: $0.string(1)) }
        #expect(columns.count > 100)
        var used: Set<String> = []
        for (table, column) in columns {
            let exception = [table, "\(table).\(column)"].first { Self.exceptions[$0] != nil }
            if let exception {
                used.insert(exception)
                continue
            }
            let facts = try #require(Self.moved[table], "a move leaves out the table \(table)")
            let words = Connection.select(facts).description.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            #expect(words.contains { $0 == column }, "a move leaves out \(table).\(column)")
        }
        #expect(used == Set(Self.exceptions.keys))
    }
}
