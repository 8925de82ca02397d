import Foundation
import Jobs
import Programs
import SQLite
import Testing

@testable import SQLiteStore

@Suite struct MigrationTests {
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures")

    /// `Tests/Fixtures/schema-<version>.sql`, one for each schema: the dump of a database as its release wrote it.
    @Test(arguments: Migration.all.map(\.version))
    func aDatabaseOfEachSchemaOpensForEver(_ version: Int64) async throws {
        let fixture = Self.fixtures.appending(path: "schema-\(version).sql")
        if ProcessInfo.processInfo.environment["HALYARD_UPDATE_GOLDEN"] == "1", version == Migration.current {
            try await write(fixture)
        }
        let directory = try TemporaryDirectory()
        let dump = try String(contentsOf: fixture, encoding: .utf8)
        do {
            let connection = try Connection(path: directory.database, access: .readWriteCreate)
            try connection.execute(text: dump)
        }
        let store = try directory.open(StoreOptions(walBytes: 0))
        #expect(try await store.jobs(JobFilter()).count == 10)
        #expect(try await store.job(JobID(1))?.node == "good")
        #expect(try await store.definitions().definitions.map(\.definition.name) == ["fetch"])
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
    }

    private func write(_ fixture: URL) async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.open(StoreOptions(walBytes: 0))
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

    @Test func migrationsAreNumberedInOrderUpToTheCurrentOne() {
        #expect(Migration.all.map(\.version) == Array(1...Migration.current))
    }

    /// A database that stands at version 0 of ours gets every step; nothing of a step that fails stays.
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

    @Test func aStepThatFailsLeavesTheDatabaseAsItWas() throws {
        let directory = try TemporaryDirectory()
        let connection = try Connection(path: directory.database, access: .readWriteCreate)
        // In the way of the first step, late in it.
        try connection.execute("CREATE TABLE other (x); CREATE INDEX job_graph ON other (x)")
        #expect(throws: StoreOpenError.self) { try connection.migrate(path: directory.database) }
        #expect(connection.isAutocommit)
        #expect(try connection.integer("PRAGMA user_version") == 0)
        #expect(try connection.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table'") == 1)
    }
}
