import Foundation
import Jobs
import Programs
import SQLiteInspection
import Testing

@testable import SQLite
@testable import SQLiteStore

@Suite struct MigrationTests {
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures")
    private static let versions = Migration.all.map(\.version)

    /// `Tests/Fixtures/schema-<version>.sql`, one for each schema: the dump of a database as its release wrote it.
    private static func database(ofSchema version: Int64, in directory: TemporaryDirectory) throws {
        let dump = try String(contentsOf: fixtures.appending(path: "schema-\(version).sql"), encoding: .utf8)
        let connection = try Connection(path: directory.database, access: .readWriteCreate)
        try connection.execute(SQL(trusted: dump))
    }

    @Test(arguments: versions)
    func aDatabaseOfEachSchemaOpensForEver(_ version: Int64) async throws {
        if ProcessInfo.processInfo.environment["HALYARD_UPDATE_GOLDEN"] == "1", version == Migration.current {
            try await write(Self.fixtures.appending(path: "schema-\(version).sql"))
        }
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: version, in: directory)
        let store = try directory.open(StoreOptions(walBytes: 0))
        #expect(try await store.jobs(JobFilter()).count == 10)
        #expect(try await store.job(JobID(1))?.node == "good")
        #expect(try await store.definitions().definitions.map(\.definition.name) == ["fetch"])
        let results = [try await store.result(of: JobID(1)), try await store.result(of: JobID(2))]
        #expect(results.map { $0?.outcome } == [.succeeded, .failed])
        // It still works: what ran is rescued, and new jobs get new numbers.
        let now = Timestamp(milliseconds: 1_750_000_100_000)
        #expect(try await store.rescueOrphans(maxRescues: 3, now: now).cancelled == [JobID(5)])
        let definition = try await store.definitions().definitions[0].id
        let outcome = try await store.enqueue(
            [NewGraph(isGraph: false, jobs: [NewJob(definition: definition)])], now: now)[0]
        #expect(outcome == .enqueued(EnqueueReceipt(graph: nil, jobs: [JobID(11)])))
        await store.close()
        let connection = try Connection(path: directory.database, access: .readOnly)
        #expect(try connection.integer("PRAGMA user_version") == Migration.current)
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
        #expect(try connection.firstForeignKeyViolation() == nil)
    }

    private func write(_ fixture: URL) async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.open(StoreOptions(walBytes: 0), clock: ViewTests.clock)
        try await ViewTests.populate(store)
        await store.close()
        try FileManager.default.createDirectory(at: Self.fixtures, withIntermediateDirectories: true)
        // A dump leaves out the two numbers that tell whose database this is.
        let shell = try await ChildProcess.run(
            "sqlite3",
            [
                directory.database, ".dump",
                "SELECT 'PRAGMA application_id = ' || application_id || ';' FROM pragma_application_id",
                "SELECT 'PRAGMA user_version = ' || user_version || ';' FROM pragma_user_version",
            ])
        try #require(shell.status == .exited(0), "\(shell.errors)")
        try (shell.output + "\n").write(to: fixture, atomically: true, encoding: .utf8)
        Issue.record("\(fixture.lastPathComponent) was written; run again")
    }

    // MARK: Nothing is lost

    @Test(arguments: versions.dropLast())
    func everyRowOfEveryTableIsKept(from version: Int64) throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: version, in: directory)
        let connection = try Connection(path: directory.database, access: .readWrite)
        let before = try Contents(connection)
        #expect(before.tables.values.filter { $0.count > 0 }.count >= 11)
        try connection.enable(.foreignKeys)
        try connection.migrate(path: directory.database)
        let after = try Contents(connection)
        // A migration may add columns.
        for (before, after) in [(before.tables, after.tables), (before.views, after.views)] {
            for (name, old) in before {
                let new = try #require(after[name])
                #expect(new.count == old.count, "rows of \(name)")
                for (column, values) in Self.renamed(old, name).columns {
                    #expect(new.columns[column] == values, "\(name).\(column)")
                }
            }
        }
        #expect(before.views.keys == after.views.keys)
    }

    /// What migration 4 renames.
    private static func renamed(_ table: Contents.Table, _ name: String) -> Contents.Table {
        let columns = [
            "queue.concurrency": "limit", "queues.concurrency": "limit", "definition.max_attempts": "max_tries",
            "definitions.sort": "type", "dependency.job_id": "dependent_id", "dependency.parent_id": "dependency_id",
            "cancelling.asked_ms": "requested_ms",
        ]
        var renamed = Contents.Table(count: table.count)
        for (column, values) in table.columns {
            renamed.columns[columns["\(name).\(column)"] ?? column] =
                switch column {
                case "retry": values.map { $0.replacing("{\"attempts\":", with: "{\"tries\":") }
                case "reason": values.map { $0.replacing("runs as many jobs as it may, ", with: "is at its limit of ") }
                default: values
                }
        }
        return renamed
    }

    /// Migration 4 renames a field of the retry policies. A text that is not a policy stays as it is.
    @Test func retryPoliciesCountTries() throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: 3, in: directory)
        let connection = try Connection(path: directory.database, access: .readWrite)
        try connection.execute(
            """
            INSERT INTO definition (name, revision, kind, queue, priority, retry, max_attempts, input, updated_ms)
            VALUES ('a', 1, 'b', 'net', 0, '{"on":["x"],"attempts":7}', 7, '{}', 0),
                   ('b', 1, 'b', 'net', 0, '{"delay":"none"}', 5, '{}', 0),
                   ('c', 1, 'b', 'net', 0, '{', 1, '{}', 0)
            """)
        try connection.migrate(path: directory.database)
        let policies: SQL = "SELECT group_concat(retry, ' ') FROM definition WHERE length(name) = 1"
        #expect(try connection.text(policies) == #"{"tries":7,"on":["x"]} {"delay":"none"} {"#)
    }

    @Test func connectionsRecordErrors() throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: 3, in: directory)
        let connection = try Connection(path: directory.database, access: .readWrite)
        try connection.execute(
            #"""
            UPDATE attempt SET connections = '[{"number":1,"failure":"reset by peer: \"failure\": no"},{"number":2}]'
            """#)
        try connection.migrate(path: directory.database)
        let found: SQL = "SELECT DISTINCT connections FROM attempt"
        #expect(
            try connection.text(found) == #"[{"number":1,"error":"reset by peer: \"failure\": no"},{"number":2}]"#)
    }

    /// Otherwise a job that was enqueued before the upgrade would run without its limits.
    @Test func inputsOfBuiltInKindsKeepTheirLimits() throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: 3, in: directory)
        let connection = try Connection(path: directory.database, access: .readWrite)
        try connection.execute(
            #"""
            DELETE FROM job_input;
            INSERT INTO job_input VALUES
                (1, '{"timeout_ms":1}'), (2, '{"url":"x","timeout_ms":1500,"max_bytes":7,"max_bytes_per_second":9,"n":{"max_bytes":1}}'),
                (3, '{"url": "x"}'), (4, '{"timeout_ms":null,"max_bytes":2}'), (6, '{"timeout_ms":2e3}'), (5, '["timeout_ms"]'),
                (7, '{"timeout_ms"'), (8, '{"timeout_ms":12,"x":"' || hex(zeroblob(524276)) || '"}');
            INSERT INTO definition (id, name, revision, kind, queue, priority, retry, max_attempts, input, updated_ms)
            VALUES (90, 'e', 1, 'enrich', 'net', 0, '{}', 5, '{"max_bytes":5}', 0);
            UPDATE job SET definition_id = 90 WHERE id > 1
            """#)
        try connection.migrate(path: directory.database)
        #expect(
            try connection.text("SELECT group_concat(substr(input, 1, 100), ' ') FROM job_input WHERE job_id < 8")
                == #"{"timeout_ms":1} {"url":"x","n":{"max_bytes":1},"timeout":"1500ms","max_size":7,"max_rate":9} "#
                + #"{"url": "x"} {"max_size":2} ["timeout_ms"] {"timeout":"2000ms"} {"timeout_ms""#)
        #expect(try connection.text("SELECT input FROM definition WHERE id = 90") == #"{"max_size":5}"#)
    }

    @Test(arguments: versions)
    func aMigratedDatabaseHasTheSchemaOfANewOne(from version: Int64) async throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: version, in: directory)
        let migrated = try Connection(path: directory.database, access: .readWrite)
        try migrated.migrate(path: directory.database)
        let other = try TemporaryDirectory()
        try await other.open(StoreOptions(walBytes: 0)).close()
        let new = try Connection(path: other.database, access: .readOnly)
        #expect(try migrated.schema == new.schema)
    }

    // MARK: Machinery

    @Test func migrationsAreNumberedInOrderUpToTheCurrentOne() {
        #expect(Migration.all.map(\.version) == Array(1...Migration.current))
    }

    /// A database of ours at version 0 gets every migration.
    @Test func anOlderDatabaseGetsTheStepsItLacks() throws {
        let directory = try TemporaryDirectory()
        let connection = try Connection(path: directory.database, access: .readWriteCreate)
        try connection.migrate(path: directory.database)
        #expect(try connection.integer("PRAGMA user_version") == Migration.current)
        #expect(try connection.integer("PRAGMA application_id") == Migration.applicationID)
        #expect(try connection.integer("SELECT count(*) FROM queue") == 1)
        // Again changes nothing.
        try connection.migrate(path: directory.database)
        #expect(try connection.integer("SELECT count(*) FROM queue") == 1)
    }

    /// The ways in which a step can fail after the rebuilds.
    enum Mishap: CaseIterable {
        case statement, rowsLost, danglingRows, noRoom

        var step: Migration.Step {
            switch self {
            case .statement: .sql("INSERT INTO job (id) VALUES (1)")
            case .rowsLost:
                .rebuild(
                    TableRebuild(
                        table: "result", create: "CREATE TABLE new_result (job_id INTEGER UNIQUE ON CONFLICT IGNORE)",
                        values: ["job_id": "max(job_id, 2)"]))
            case .danglingRows: .sql("DELETE FROM job WHERE id = 2")
            case .noRoom:
                .swift { (connection) throws(SQLiteError) in
                    _ = try connection.integer("PRAGMA max_page_count = 1")
                    try connection.execute("CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(10000000))")
                }
            }
        }

        func explains(_ error: StoreOpenError) -> Bool {
            switch (self, error) {
            case (.statement, .sqlite), (.noRoom, .noRoomToMigrate(_, 1, Migration.current, _, _)): true
            case (.rowsLost, .sqlite(_, _, "the copy of table result has 2 of 3 rows")): true
            case (.danglingRows, .danglingRows(_, let table, "job")):
                ["dependency", "attempt", "result", "job_input"].contains(table)
            default: false
            }
        }
    }

    @Test(arguments: Mishap.allCases)
    func aStepThatFailsLeavesTheDatabaseUnchanged(_ mishap: Mishap) throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: 1, in: directory)
        let connection = try Connection(path: directory.database, access: .readWrite)
        try connection.enable(.foreignKeys)
        let before = try Contents(connection)
        let migrations = [
            Migration.m001, Migration(version: 2, steps: Migration.m002.steps + [mishap.step]),
        ]
        let error = try #require(throws: StoreOpenError.self) {
            try connection.migrate(path: directory.database, through: migrations)
        }
        #expect(mishap.explains(error), "\(error)")
        #expect(connection.isAutocommit)
        #expect(try connection.integer("PRAGMA foreign_keys") == 1)
        #expect(try connection.integer("PRAGMA user_version") == 1)
        #expect(try Contents(connection) == before)
        // The next start succeeds.
        _ = try connection.integer("PRAGMA max_page_count = 1000000000")
        try connection.migrate(path: directory.database)
        #expect(try connection.integer("PRAGMA user_version") == Migration.current)
        #expect(try connection.integer("PRAGMA foreign_keys") == 1)
    }

    /// The reason why foreign keys are off during a migration: otherwise the drop deletes every result.
    @Test func aRebuildWithForeignKeysOnWouldDeleteResults() throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: 1, in: directory)
        let connection = try Connection(path: directory.database, access: .readWrite)
        try connection.enable(.foreignKeys)
        #expect(try connection.integer("SELECT count(*) FROM result") == 3)
        try connection.execute("BEGIN")
        try connection.execute("PRAGMA foreign_keys = OFF")
        try Migration(version: 2, steps: [.rebuild(Migration.job)]).run(on: connection)
        #expect(try connection.integer("SELECT count(*) FROM job") == 10)
        #expect(try connection.integer("SELECT count(*) FROM result") == 0)
        try connection.execute("ROLLBACK")
        #expect(try connection.integer("SELECT count(*) FROM result") == 3)
    }

    /// The process is killed after each step, also when the log already contains pages of the unfinished transaction.
    @Test(arguments: [Migration.m002, .m004].flatMap { one in (1...one.steps.count).map { (one.version, $0) } })
    func p11AProcessThatIsKilledInAMigrationLeavesTheOldVersion(_ version: Int64, after steps: Int) async throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: version - 1, in: directory)
        let path = directory.database
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, version = version as Int64, steps = steps as Int] in
            let connection = try Connection(path: path, access: .readWrite)
            try connection.setBusyTimeout(milliseconds: 5000)
            try connection.configure(path: path, isWriter: true, options: StoreOptions(walBytes: 0))
            // With this cache every page goes to the log at once.
            try connection.execute("PRAGMA cache_size = 1")
            let kill = Migration.Step.swift { (_) throws(SQLiteError) in _ = Glibc.kill(getpid(), SIGKILL) }
            let done = Array(Migration.all[Int(version) - 1].steps.prefix(steps))
            try connection.migrate(path: path, through: [Migration(version: version, steps: done + [kill])])
        }
        let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? 0
        #expect(steps == 1 || log > 0)
        let found = try Connection(path: path, access: .readWrite)
        #expect(try found.integer("PRAGMA user_version") == version - 1)
        #expect(try found.integer("SELECT count(*) FROM result") == 3)
        #expect(try found.text("PRAGMA integrity_check") == "ok")
        try found.migrate(path: path)
        #expect(try found.integer("PRAGMA user_version") == Migration.current)
        #expect(try found.integer("SELECT count(*) FROM result") == 3)
    }

    /// However many rows there are, memory holds only a few pages.
    @Test func manyRowsNeedLittleMemory() async throws {
        let directory = try TemporaryDirectory()
        try Self.database(ofSchema: 1, in: directory)
        let path = directory.database
        await #expect(processExitsWith: .success) { [path = path as String] in
            let connection = try Connection(path: path, access: .readWrite)
            try connection.setBusyTimeout(milliseconds: 5000)
            try connection.configure(path: path, isWriter: true, options: StoreOptions(walBytes: 0))
            // Half of the rows are in a graph, so that its index grows as well: 30 MB in all.
            try connection.execute(
                """
                WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
                INSERT INTO job (id, state, queue_id, priority, definition_id, graph_id, attempt, tries, rescues,
                                 dependencies, pending, enqueued_ms, due_ms, started_ms, finished_ms)
                SELECT i, 5, 1, 0, 1, iif(i % 2, 1, NULL), 1, 1, 0, 0, 0, 1750000000000, 1750000000000,
                       1750000000000, 1750000000000
                FROM   n
                """)
            let before = peakMemory()
            try connection.migrate(path: path)
            guard try connection.integer("SELECT count(*) FROM job") == 399_911 else { exit(2) }
            exit(peakMemory() - before < 24 << 20 ? EXIT_SUCCESS : 3)
        }
    }
}

/// The peak memory of this process, in bytes.
private func peakMemory() -> Int {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return usage.ru_maxrss << 10
}

/// Every row of every table and view, as SQL literals.
private struct Contents: Equatable {
    struct Table: Equatable {
        var count = 0
        var columns: [String: [String]] = [:]
    }

    private(set) var tables: [String: Table] = [:]
    private(set) var views: [String: Table] = [:]

    init(_ connection: Connection) throws {
        let names = try connection.prepare(
            "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'")
        while try names.step() {
            let name = names.string(0)
            if names.string(1) == "table" {
                tables[name] = try Self.rows(name, connection)
            } else {
                views[name] = try Self.rows(name, connection)
            }
        }
    }

    private static func rows(_ name: String, _ connection: Connection) throws -> Table {
        let columns = try connection.prepare(SQL(trusted: "SELECT * FROM \"\(name)\"")).columnCount
        let order = columns > 1 ? "1, 2" : "1"
        let statement = try connection.prepare(SQL(trusted: "SELECT * FROM \"\(name)\" ORDER BY \(order)"))
        var table = Table()
        while try statement.step() {
            table.count += 1
            for column in 0..<statement.columnCount {
                table.columns[statement.columnName(column), default: []].append(
                    statement.optionalString(column) ?? "NULL")
            }
        }
        return table
    }
}

extension Connection {
    /// The SQL of every table, index and view, without the changes that a rename makes.
    fileprivate var schema: [String] {
        get throws {
            try prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all {
                "\($0.string(0)) \($0.string(1)) \($0.string(2)): \($0.string(3))"
            }
        }
    }
}
