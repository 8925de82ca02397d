import Foundation
import Jobs
import Testing

@testable import SQLite
@testable import SQLiteStore

/// The schema refuses the characters in names that `HiddenCharacter` finds, and a migration replaces them in older
/// databases.
@Suite struct HiddenTextTests {
    /// All CHECKs of the rule differ only in the column, so this tests one of them, with every block that has such a
    /// character.
    @Test func theSchemaAndTheRuleAgree() throws {
        let directory = try TemporaryDirectory()
        let connection = try Connection(path: directory.database, access: .readWriteCreate)
        for migration in Migration.all { try migration.run(on: connection) }
        let sql = try #require(try connection.text("SELECT sql FROM sqlite_schema WHERE name = 'queue'"))
        let start = try #require(sql.range(of: "instr(name, char(0)) = 0"))
        let end = try #require(sql.range(of: "']*')", range: start.lowerBound..<sql.endIndex))
        let rule = sql[start.lowerBound..<end.upperBound].replacing("name", with: ":name")
        let statement = try connection.prepare(SQL(trusted: "SELECT \(rule)"), Parameter.self)
        let blocks: [ClosedRange<UInt32>] = [
            0...0x30FF, 0xFD00...0xFFFF, 0x110B0...0x110D0, 0x13420...0x13450, 0x1BC90...0x1BCB0, 0x1D160...0x1D190,
            0xDFFF0...0xE1010,
        ]
        let rest = stride(from: UInt32(0), through: 0x10FFFF, by: 1009)
        for value in blocks.joined().map(\.self) + Array(rest) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(Character(scalar))b"
            let isAllowed = try statement.first([.name <- text]) { $0.integer(0) == 1 } ?? false
            if isAllowed != (HiddenCharacter(in: text) == nil) { Issue.record("U+\(String(value, radix: 16))") }
        }
    }

    static let columns = [
        ("queue", "name"), ("definition", "name"), ("definition", "summary"), ("graph_definition", "name"),
        ("graph_definition", "summary"), ("schedule", "name"), ("schedule", "summary"), ("graph", "name"),
        ("job", "node"), ("idempotency", "key"),
    ]

    @Test(arguments: columns)
    func aNameThatDoesNotShowIsRefused(_ table: String, _ column: String) async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.open(clock: ViewTests.clock)
        try await ViewTests.populate(store)
        let definition = try await store.definitions().definitions[0].id
        let key = IdempotencyKey(name: "k", fingerprint: 1)
        _ = try await store.enqueue(
            [NewGraph(isGraph: false, jobs: [NewJob(definition: definition)], key: key)], now: .init(milliseconds: 1))
        await store.close()
        let connection = try Connection(path: directory.database, access: .readWrite)
        for bad in ["char(27)", "char(0)", "char(8238)", "char(10)", "char(127)", "char(917569)"] {
            let error = #expect(throws: SQLiteError.self) {
                try connection.execute(
                    SQL(trusted: "UPDATE \(table) SET \(column) = 'a' || \(bad) || 'b' WHERE \(column) IS NOT NULL"))
            }
            #expect(error?.message.contains("\(table)_\(column)_shows") == true, "\(error?.message ?? "")")
        }
        try connection.execute(
            SQL(trusted: "UPDATE \(table) SET \(column) = 'ü❤️' || \(column) WHERE \(column) IS NOT NULL"))
        #expect(connection.changes > 0)
    }

    @Test func theStoreRefusesThemAndNamesTheField() async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.open()
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: Timestamp(milliseconds: 1))
        let job = NewJob(definition: DefinitionID(1))
        var node = job
        node.node = "a\u{1B}"
        let graphs = [
            NewGraph(name: "a\u{202E}", isGraph: true, jobs: [job]), NewGraph(isGraph: true, jobs: [node]),
            NewGraph(isGraph: false, jobs: [job], key: IdempotencyKey(name: "\n", fingerprint: 1)),
        ]
        let refused = try await store.enqueue(graphs, now: Timestamp(milliseconds: 1)).map {
            "\($0)".replacing("\\", with: "")
        }
        for (text, field) in zip(refused, ["the graph's name", "the node's name", "the key"]) {
            #expect(text.lowercased().contains(field))
        }
        #expect(try await store.jobs(JobFilter()).isEmpty)
        await store.close()
    }

    /// Names that older releases accepted are renamed, stay unique, and references to them are updated.
    @Test func theMigrationReplacesThem() async throws {
        let directory = try TemporaryDirectory()
        let fixture = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures/schema-1.sql")
        do {
            let connection = try Connection(path: directory.database, access: .readWriteCreate)
            try connection.execute(SQL(trusted: try String(contentsOf: fixture, encoding: .utf8)))
            try connection.execute(
                """
                UPDATE queue SET name = 'n' || char(27) || 't' WHERE name = 'net';
                UPDATE queue SET name = 'n_t' WHERE name = 'mail';
                UPDATE definition SET queue = 'n' || char(27) || 't', summary = 'a' || char(10) || 'b';
                UPDATE graph SET name = char(8238) || 'x';
                UPDATE job SET node = 'go' || char(7) || 'od' WHERE id = 1;
                UPDATE graph_definition SET body = json_set(body, '$.summary', 'x' || char(155) || 'y');
                UPDATE schedule SET name = 'of' || char(127), body = json_set(body, '$.name', 'of' || char(127))
                WHERE  name = 'often';
                INSERT INTO idempotency VALUES ('k' || char(27), 1, NULL, 8, 1), ('k' || char(7), 1, NULL, 9, 1),
                                               ('k_', 1, NULL, 10, 1), (char(27) || printf('%.254c', 'k'), 1, NULL, 7, 1);
                """)
        }
        let store = try directory.open(StoreOptions(walBytes: 0))
        #expect(try await store.queues().map(\.settings.name).sorted() == ["default", "n_t", "n_t-2"])
        let definition = try await store.definitions().definitions[0].definition
        #expect(definition.queue == "n_t-2")
        #expect(definition.summary == "a_b")
        #expect(try await store.definitions().graphs[0].definition.summary == "x_y")
        #expect(try await store.schedules().map(\.schedule.name).contains("of_"))
        #expect(try await store.graph(GraphID(1))?.name == "_x")
        #expect(try await store.job(JobID(1))?.node == "go_od")
        #expect(try await store.job(JobID(8))?.queue == "n_t-2")
        await store.close()
        let connection = try Connection(path: directory.database, access: .readOnly)
        #expect(try connection.integer("SELECT count(*) FROM idempotency WHERE key IN ('k_', 'k_-2', 'k_-3')") == 3)
        #expect(try connection.text("SELECT key FROM idempotency WHERE first_job_id = 10") == "k_")
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
    }
}
