import CalendarEvents
import Jobs
import OperationTypes
import SQLite
import SQLiteInspection
import SQLiteStore
import Testing

/// What a person sees in `sqlite3`.
@Suite struct ViewTests {
    /// Each row as `column=value`, one line for each that is not NULL.
    private func rows(_ sql: SQL, _ path: String) throws -> String {
        let connection = try Connection(path: path, access: .readOnly)
        let statement = try connection.prepare(sql)
        var text = ""
        while try statement.step() {
            for column in 0..<statement.columnCount {
                guard let value = statement.optionalString(column) else { continue }
                text += "\(statement.columnName(column))=\(value)\n"
            }
            text += "\n"
        }
        return text
    }

    static let clock = StoppedClock(wall: Timestamp(milliseconds: 1_750_000_000_123))

    /// A graph with a job in every state that a graph can show, and lone jobs that wait for other reasons.
    static func populate(_ store: SQLiteJobStore) async throws {
        var now = Timestamp(milliseconds: 1_750_000_000_123)
        try await store.change(
            DefinitionChange(
                queues: [
                    QueueChange(name: "net", limit: 1), QueueChange(name: "mail", limitPerDaemon: .atMost(4)),
                ],
                definitions: [
                    Definition(
                        name: "fetch", kind: "http", summary: "Fetches a page.", queue: "net", priority: .high,
                        retry: RetryPolicy(tries: 3, delay: .constant(.seconds(2))), timeout: .seconds(90),
                        input: JSONText(trusted: Array("{\"method\":\"GET\"}".utf8)))
                ],
                graphs: [
                    GraphDefinition(
                        name: "pair", summary: "Two fetches.",
                        nodes: [GraphDefinition.Node(name: "one", definition: "fetch")])
                ],
                schedules: [
                    Schedule(
                        name: "nightly", summary: "Fetches at night.",
                        calendar: [CalendarExpression("Mon..Fri 03:00 Europe/Berlin"), CalendarExpression("monthly")],
                        definition: "pair", input: JSONText(trusted: Array("{\"one.url\":\"x\"}".utf8)),
                        isPersistent: true),
                    Schedule(
                        name: "often", calendar: [CalendarExpression("minutely")], definition: "fetch", overlap: .allow),
                    Schedule(name: "past", calendar: [CalendarExpression("2020-01-01")], definition: "fetch"),
                ]), now: now)
        try await store.recordProblems(["pair": "node one has no url"], now: now)
        let fetch = try #require(try await store.definitions().definitions.first).id
        func job(
            _ node: String? = nil, after: [NewDependency] = [], queue: String = "default", dueAt: Timestamp? = nil,
            input: String? = nil
        ) -> NewJob {
            NewJob(
                definition: fetch, node: node, input: input.map { JSONText(trusted: Array($0.utf8)) }, queue: queue,
                start: dueAt.map { .at($0) } ?? .now, dependencies: after)
        }
        _ = try await store.enqueue(
            [
                NewGraph(
                    name: "pair", isGraph: true,
                    jobs: [
                        job("good", input: "{\"url\":\"https://example.org/\"}"), job("bad"),
                        job("after-bad", after: [NewDependency(on: .new(1))]), job("again"),
                        job("slow"),
                        job(
                            "last",
                            after: [NewDependency(on: .new(4), condition: .finished), NewDependency(on: .new(3))]),
                    ])
            ], now: now)
        now = now + .seconds(1)
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 10), now: now).claimed
        try await store.save(
            JSONText(trusted: Array("{\"offset\":4096}".utf8)), under: claimed[2].lease, now: now + .seconds(1))
        now = now + .milliseconds(1500)
        let failure = JobFailure(
            code: "http_status", message: "The server said 503.",
            detail: JSONText(trusted: Array("{\"status\":503}".utf8)))
        _ = try await store.exchange(
            [
                AttemptEnd(
                    lease: claimed[0].lease, ending: .succeeded(JSONText(trusted: Array("{\"bytes\":12}".utf8))),
                    connections: connections(now)),
                AttemptEnd(lease: claimed[1].lease, ending: .failed(failure)),
                AttemptEnd(lease: claimed[2].lease, ending: .retry(failure, timedOut: true, after: .seconds(60))),
            ], claim: nil, now: now)
        _ = try await store.enqueue(
            [NewGraph(isGraph: false, jobs: [job(queue: "net"), job(queue: "net"), job(queue: "mail"), job()])],
            now: now)
        _ = try await store.change(QueueChange(name: "mail", isPaused: true), now: now)
        _ = try await store.change(QueueChange(name: "default", isPaused: true), now: now)
        _ = try await store.exchange([], claim: ClaimRequest(slots: 1), now: now)
        _ = try await store.change(QueueChange(name: "default", isPaused: false), now: now)
        _ = try await store.cancel([JobID(5)], now: now)
        let nightly = try await store.schedules()[0]
        try await store.plan([ScheduleTiming(nightly, after: now, nextAt: now + .seconds(10))])
        let planned = try await store.schedules()[0]
        let timing = ScheduleTiming(planned, after: now + .seconds(10), nextAt: now + .seconds(20))
        _ = try await store.fire(ScheduleFiring(timing, .refused("There is no url.")), now: now)
        _ = try await store.setPaused(true, schedule: "often", now: now)
    }

    private static func connections(_ now: Timestamp) -> JSONText? {
        let log = ConnectionLog { now }
        for (origin, status) in [("https://example.org", 302), ("http://h:8080", 200)] {
            log.begin(method: "GET", origin: origin, address: "192.0.2.1:443").update { $0.status = status }
        }
        return log.json
    }

    @Test func jobsThatTheDaemonDoesNotServeSayWhy() async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.open(clock: Self.clock)
        let now = Self.clock.wall
        try await store.change(
            DefinitionChange(
                queues: [QueueChange(name: "net")],
                definitions: [Definition(name: "fetch", kind: "http"), Definition(name: "send", kind: "smtp")]),
            now: now)
        let ids = try await store.definitions().definitions.map(\.id)
        let holder = Holder(identity: "a", host: "h", version: "1", queues: ["default"], kinds: ["http"])
        let life = try await store.begin(holder, now: now).id
        let jobs = [
            NewJob(definition: ids[0], queue: "net"), NewJob(definition: ids[1]), NewJob(definition: ids[0]),
        ]
        _ = try await store.enqueue(jobs.map { NewGraph(isGraph: false, jobs: [$0]) }, now: now)
        let reasons: SQL = "SELECT reason FROM waiting ORDER BY job"
        #expect(
            try rows(reasons, directory.database) == """
                reason=no running daemon serves queue net

                reason=no running daemon serves kind smtp

                reason=waits for its turn in queue default


                """)
        // The next daemon may serve all queues and kinds.
        try await store.leave(life, now: now)
        #expect(try !rows(reasons, directory.database).contains("serves"))
        await store.close()
    }

    @Test func connectionsAreArraysAndAreReadOneByOne() async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.open(clock: Self.clock)
        try await Self.populate(store)
        let found = try rows(
            """
            SELECT job, value ->> 'number' AS number, value ->> 'origin' AS origin, value ->> 'status' AS status
            FROM   attempts, json_each(connections)
            """, directory.database)
        await store.close()
        #expect(
            found == """
                job=1
                number=1
                origin=https://example.org
                status=302

                job=1
                number=2
                origin=http://h:8080
                status=200


                """)
        let connection = try Connection(path: directory.database, access: .readWrite)
        for wrong in ["{}", "1", "[", ""] {
            #expect(throws: SQLiteError.self) {
                try connection.execute(SQL(trusted: "UPDATE attempt SET connections = '\(wrong)'"))
            }
        }
    }

    @Test(arguments: ["jobs", "results", "attempts", "queues", "graphs", "waiting", "definitions", "schedules"])
    func readsWell(_ view: String) async throws {
        let directory = try TemporaryDirectory()
        let store = try directory.open(clock: Self.clock)
        try await Self.populate(store)
        let sql: SQL =
            switch view {
            case "jobs": "SELECT * FROM jobs ORDER BY job"
            case "results": "SELECT * FROM results ORDER BY job"
            case "attempts": "SELECT * FROM attempts ORDER BY job, attempt"
            case "queues": "SELECT * FROM queues ORDER BY queue"
            case "graphs": "SELECT * FROM graphs"
            case "waiting": "SELECT * FROM waiting ORDER BY job"
            case "schedules": "SELECT * FROM schedules ORDER BY schedule"
            default: "SELECT * FROM definitions ORDER BY name"
            }
        let found = try rows(sql, directory.database)
        await store.close()
        expectGolden(found, view)
    }
}
