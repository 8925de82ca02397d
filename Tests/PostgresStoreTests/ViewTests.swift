import CalendarEvents
import Foundation
import Jobs
import OperationTypes
import PostgreSQL
import PostgresStore
import SQLite
import SQLiteInspection
import SQLiteStore
import Testing

/// The views for people have the same names, columns and rows as in an SQLite database.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct ViewTests {
    private struct StoppedClock: StoreClock {
        let wall: Timestamp
        var boot: String { "the only one" }
        var sinceBoot: Duration { .seconds(1000) }
    }

    private static let start = Timestamp(milliseconds: 1_750_000_000_123)

    @Test func viewsShowTheSameAsThoseOfSQLite() async throws {
        let clock = StoppedClock(wall: Self.start)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A leftover in the temporary folder harms nobody.
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("halyard.db").path
        let file = try SQLiteJobStore.open(
            try DatabaseLock.acquire(forDatabaseAt: path), options: StoreOptions(watchesFiles: false), clock: clock)
        try await Self.populate(file)
        await file.close()
        let database = try TestDatabase()
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(1_000_000)
        let server = try database.open(options, clock: clock)
        try await Self.populate(server)
        await server.close()

        let connection = try PostgreSQL.Connection(to: database.url)
        for view in ["jobs", "results", "attempts", "queues", "graphs", "waiting", "definitions", "schedules"] {
            let expected = try Self.rows(of: view, path)
            let found = try Self.rows(of: view, connection)
            #expect(found.columns == expected.columns, "\(view)")
            #expect(found.rows.count == expected.rows.count, "\(view)")
            for (row, wanted) in zip(found.rows, expected.rows) {
                for column in expected.columns { #expect(row[column] == wanted[column], "\(view).\(column)") }
            }
        }
        let reasons = "SELECT reason FROM halyard.waiting WHERE queue IN ('photo', 'away') ORDER BY queue"
        #expect(
            try connection.run(reasons).map { $0.string(0) } == [
                "no running daemon serves queue away", "queue photo is at its limit of 1 per daemon",
            ])
    }

    @Test func daemonsAreShown() async throws {
        let database = try TestDatabase()
        // Nobody renews the lives.
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(1_000_000)
        let store = try database.open(options)
        let now = Timestamp(milliseconds: 0)
        func kind(_ name: String) -> KindDescription {
            KindDescription(
                name: name, summary: "", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        }
        let one = Holder(
            identity: "1", name: "one", host: "a", version: "1.0", queues: ["default", "mail"],
            kinds: ["upload", "act"])
        let life = try await store.begin(one, now: now).id
        try await store.register(["upload", "unfurl", "act"].map(kind), by: life, now: now)
        let two = try await store.begin(Holder(identity: "2", name: "two", host: "b", version: "1.1"), now: now)
        try await store.leave(two.id, now: now)
        #expect(try await store.setDrained(true, identity: "2", now: now))
        await store.close()
        let rows = try PostgreSQL.Connection(to: database.url).run(
            """
            SELECT   name, host, version, state, running, queues, kinds, drained IS NOT NULL
            FROM     halyard.daemons
            ORDER BY daemon
            """)
        let values = rows.map { row in (0..<8).map { row.string($0) } }
        #expect(
            values == [
                ["one", "a", "1.0", "alive", "0", "default, mail", "act, upload", "f"],
                ["two", "b", "1.1", "ended", "0", "", "", "t"],
            ])
    }

    // MARK: Reading

    typealias Table = (columns: [String], rows: [[String: String]])

    static func rows(of view: String, _ path: String) throws -> Table {
        let connection = try SQLite.Connection(path: path, access: .readOnly)
        let statement = try connection.prepare(SQL(trusted: "SELECT * FROM \(view)"))
        let columns = (0..<statement.columnCount).map { statement.columnName($0) }
        var rows: [[String: String]] = []
        while try statement.step() {
            var row: [String: String] = [:]
            for column in 0..<statement.columnCount {
                row[statement.columnName(column)] = statement.optionalString(column).map(normalized)
            }
            rows.append(row)
        }
        return (columns, sorted(rows))
    }

    static func rows(of view: String, _ connection: PostgreSQL.Connection) throws -> Table {
        let columns = try connection.run(
            """
            SELECT   column_name
            FROM     information_schema.columns
            WHERE    table_schema = 'halyard'
            AND      table_name = '\(view)'
            ORDER BY ordinal_position
            """
        ).map { $0.string(0) }
        let list = columns.map { "\"\($0)\"::text" }.joined(separator: ", ")
        let found = try connection.run("SELECT \(list) FROM halyard.\(view)")
        let rows = found.map { row in
            var values: [String: String] = [:]
            for (index, column) in columns.enumerated() {
                values[column] = row.optionalString(index).map(normalized)
            }
            return values
        }
        return (columns, sorted(rows))
    }

    private static func sorted(_ rows: [[String: String]]) -> [[String: String]] {
        func key(_ row: [String: String]) -> String {
            let job = row["job"] ?? row["graph"] ?? ""
            let number = String(repeating: "0", count: max(0, 9 - job.count)) + job
            return "\(number) \(row["attempt"] ?? "") \(row["queue"] ?? row["name"] ?? row["schedule"] ?? "")"
        }
        return rows.sorted { key($0) < key($1) }
    }

    /// The same text for the same number or JSON value.
    private static func normalized(_ text: String) -> String {
        if let number = Double(text) { return "\(number)" }
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        let encoded = value.flatMap { try? JSONSerialization.data(withJSONObject: $0, options: .sortedKeys) }
        // A text that is not JSON stays as it is.
        return encoded.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    // MARK: Populating

    /// Jobs in every state, in queues that are full, paused and free.
    static func populate(_ store: some JobStore) async throws {
        var now = start
        let holder = Holder(identity: "me", host: "here", version: "1", queues: ["default", "net", "mail", "photo"])
        let me = try await store.begin(holder, now: now).id
        let http = KindDescription(
            name: "http", summary: "", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        try await store.register([http], by: me, now: now)
        let fetch = Definition(
            name: "fetch", kind: "http", summary: "Fetches a page.", queue: "net", priority: .high,
            retry: RetryPolicy(tries: 3, delay: .constant(.seconds(2))), timeout: .seconds(90),
            input: JSONText(trusted: Array("{\"method\":\"GET\"}".utf8)))
        let pair = GraphDefinition(
            name: "pair", summary: "Two.", nodes: [GraphDefinition.Node(name: "one", definition: "fetch")])
        let schedules = [
            Schedule(
                name: "nightly", summary: "At night.",
                calendar: [try CalendarExpression("Mon..Fri 03:00 Europe/Berlin"), try CalendarExpression("monthly")],
                definition: "pair", input: JSONText(trusted: Array("{\"one.url\":\"x\"}".utf8)), isPersistent: true),
            Schedule(name: "often", calendar: [try CalendarExpression("minutely")], definition: "fetch"),
        ]
        try await store.change(
            DefinitionChange(
                queues: [
                    QueueChange(name: "net", limit: 1), QueueChange(name: "mail"),
                    QueueChange(name: "photo", limit: 5, limitPerDaemon: .atMost(1)), QueueChange(name: "away"),
                ], definitions: [fetch],
                graphs: [pair], schedules: schedules), now: now)
        try await store.recordProblems(["pair": "node one has no url"], by: me)
        let id = try #require(try await store.definitions().definitions.first).id
        func job(_ node: String? = nil, after: [NewDependency] = [], queue: String = "default") -> NewJob {
            NewJob(
                definition: id, node: node, input: JSONText(trusted: Array("{\"url\":\"https://example.org/\"}".utf8)),
                queue: queue, dependencies: after)
        }
        let finished = NewDependency(on: .new(4), condition: .finished)
        let jobs = [
            job("good"), job("bad"), job("after-bad", after: [NewDependency(on: .new(1))]), job("again"), job("slow"),
            job("last", after: [finished, NewDependency(on: .new(3))]),
        ]
        _ = try await store.enqueue([NewGraph(name: "pair", isGraph: true, jobs: jobs)], now: now)
        now = now + .seconds(1)
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 10), by: me, now: now).claimed
        now = now + .milliseconds(1500)
        let failure = JobFailure(
            code: "http_status", message: "The server said 503.", detail: JSONText(trusted: Array("{\"a\":[1]}".utf8)))
        let value = JSONText(trusted: Array("{\"bytes\":12}".utf8))
        let ends = [
            AttemptEnd(lease: claimed[0].lease, ending: .succeeded(value)),
            AttemptEnd(lease: claimed[1].lease, ending: .failed(failure)),
            AttemptEnd(lease: claimed[2].lease, ending: .retry(failure, timedOut: true, after: .seconds(60))),
        ]
        _ = try await store.exchange(ends, claim: nil, by: me, now: now)
        let lone = [job(queue: "net"), job(queue: "net"), job(queue: "mail"), job()]
        _ = try await store.enqueue(lone.map { NewGraph(isGraph: false, jobs: [$0]) }, now: now)
        _ = try await store.change(QueueChange(name: "mail", isPaused: true), now: now)
        _ = try await store.change(QueueChange(name: "default", isPaused: true), now: now)
        _ = try await store.exchange([], claim: ClaimRequest(slots: 1), by: me, now: now)
        _ = try await store.change(QueueChange(name: "default", isPaused: false), now: now)
        let more = [job(queue: "photo"), job(queue: "photo"), job(queue: "away")]
        _ = try await store.enqueue(more.map { NewGraph(isGraph: false, jobs: [$0]) }, now: now)
        _ = try await store.exchange([], claim: ClaimRequest(slots: 2, queues: ["photo"]), by: me, now: now)
        _ = try await store.cancel([JobID(5), JobID(10)], now: now)
        let nightly = try await store.schedules()[0]
        try await store.plan([ScheduleTiming(nightly, after: now, nextAt: now + .seconds(10))])
        let timing = ScheduleTiming(
            try await store.schedules()[0], after: now + .seconds(10), nextAt: now + .seconds(20))
        _ = try await store.fire(ScheduleFiring(timing, .refused("There is no url.")), now: now)
        _ = try await store.setPaused(true, schedule: "often", now: now)
    }
}
