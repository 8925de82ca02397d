import Jobs
import PostgreSQL
import PostgresStore
import Synchronization
import Testing

/// The cost of claims and ends while a transaction holds an old snapshot, counted in rows and not in time.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct HeldSnapshotTests {
    private let now = Timestamp(milliseconds: 0)
    private let ok = JSONText(trusted: Array("1".utf8))

    @Test func aDaemonThatStartsUnderAHeldSnapshotPassesNoDeletedRows() async throws {
        let database = try TestDatabase()
        let admin = try Connection(to: database.url)
        var store = try database.open()
        let change = DefinitionChange(
            queues: [QueueChange(name: QueueSettings.defaultName, limit: 1000)],
            definitions: [Definition(name: "step", kind: "noop")])
        try await store.change(change, now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let snapshot = try Connection(to: database.url)
        try snapshot.run(
            """
            BEGIN ISOLATION LEVEL REPEATABLE READ;
            SELECT (SELECT count(*) FROM halyard.ready), (SELECT count(*) FROM halyard.running)
            """)
        #expect(try await run(5000, on: store, step, as: try await begin(store)) == 5000)
        await store.close()

        // A daemon that starts looks for orphans once. Connections report what they have read when they end.
        store = try database.open()
        let holder = try await begin(store)
        _ = try await store.rescue(RescueRequest(maxRescues: 3), by: holder, now: now)
        await store.close()
        // As autovacuum does, which finds no rows of a daemon.
        try admin.run("ANALYZE halyard.ready; ANALYZE halyard.running")
        let before = try rowsRead(admin)
        store = try database.open()
        #expect(try await run(200, on: store, step, as: holder) == 200)
        await store.close()
        let after = try rowsRead(admin)
        // The jobs of the second run, several times, and a few rows of the last claims before it.
        for (index, rows) in after {
            #expect(rows - (before[index] ?? 0) < 2500, "\(index) read \(rows - (before[index] ?? 0)) rows")
        }
        #expect(try admin.run("SELECT count(*) FROM halyard.done")[0].string(0) == "5200")
        try snapshot.run("COMMIT")
    }

    @Test func plansForAnEmptyTableReadFewPagesOfAFullOne() async throws {
        let database = try TestDatabase()
        let admin = try Connection(to: database.url)
        var store = try database.open()
        let change = DefinitionChange(
            queues: [QueueChange(name: QueueSettings.defaultName, limit: 1000)],
            definitions: [Definition(name: "step", kind: "noop")])
        try await store.change(change, now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let holder = try await begin(store)
        _ = try await store.enqueue([NewGraph(isGraph: false, jobs: [NewJob(definition: step)])], now: now)
        await store.close()
        try awaitEnds(admin)
        // As autovacuum does between two backlogs, when the half contains one job.
        try admin.run("VACUUM ANALYZE")
        let before = try pagesRead(admin)
        store = try database.open()
        // Plans that are made now are kept.
        #expect(try await run(1, on: store, step, as: holder) == 2)
        let backlog = Array(repeating: NewGraph(isGraph: false, jobs: [NewJob(definition: step)]), count: 10_000)
        _ = try await store.enqueue(backlog, now: now)
        #expect(try await run(1000, on: store, step, as: holder) == 1000)
        await store.close()
        for (index, pages) in try pagesRead(admin) {
            // To insert a job or to find it, an index reads two pages. A scan of the whole index reads 40 or more for each.
            #expect(pages - (before[index] ?? 0) < 40_000, "\(index) read \(pages - (before[index] ?? 0)) pages")
        }
    }

    /// A statement that finds rows by the first column of an index cannot choose another one that contains it (S6).
    @Test func noIndexContainsTheFirstColumnOfAnother() async throws {
        let database = try TestDatabase()
        await (try database.open()).close()
        let rows = try Connection(to: database.url).run(
            Statement(
                """
                WITH key AS (
                    SELECT   indrelid, indexrelid, place, indkey[place - 1] AS attribute
                    FROM     pg_index
                    CROSS JOIN LATERAL generate_series(1, indnkeyatts) AS place
                    WHERE    indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'halyard'::regnamespace
                                          AND relname ~ '^(job|done|attempt|dependency|blocked|scheduled|ready|running|tally_change)')
                    -- Only statements that repeat the condition of a partial index can choose it.
                    AND      indpred IS NULL
                )
                SELECT   part.indexrelid::regclass::text
                FROM     key AS part
                JOIN     key AS first ON first.indrelid = part.indrelid AND first.indexrelid <> part.indexrelid
                                      AND first.place = 1 AND first.attribute = part.attribute
                WHERE    part.place > 1
                AND      part.attribute > 0
                ORDER BY 1
                """))
        #expect(rows.map { $0.string(0) } == [])
    }

    @Test func noStatementScansAWholeTableOfJobs() async throws {
        let database = try TestDatabase()
        var store = try database.open()
        let admin = try Connection(to: database.url)
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let holder = try await begin(store)
        // Creating an index scans its table.
        await store.close()
        let scans = try sequentialScans(admin)
        store = try database.open()
        let parent = NewJob(definition: step)
        let child = NewJob(definition: step, dependencies: [NewDependency(on: .new(0))])
        let later = NewJob(definition: step, start: .after(.seconds(3600)))
        let graph = NewGraph(
            isGraph: true, jobs: [parent, child, later], key: IdempotencyKey(name: "k", fingerprint: 1))
        let outcome = try await store.enqueue([graph], now: now)[0]
        guard case .enqueued(let receipt) = outcome else { throw Unexpected() }
        #expect(try await store.enqueue([graph], now: now) == [.duplicate(receipt)])
        for ending in [
            AttemptEnd.Ending.interrupted, .retry(JobFailure(code: "c", message: "m"), after: .zero),
            .succeeded(ok, children: [NewGraph(isGraph: false, jobs: [parent])]),
            .failed(JobFailure(code: "c", message: "m")),
        ] {
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), by: holder, now: now).claimed
            let lease = try #require(claimed.first).lease
            _ = try await store.exchange([AttemptEnd(lease: lease, ending: ending)], claim: nil, by: holder, now: now)
        }
        _ = try await store.cancel(receipt.jobs, now: now)
        _ = try await store.jobs(JobFilter())
        _ = try await store.attempts(of: receipt.jobs[0])
        // A life that has ended, with a running job.
        let ended = try await store.begin(Holder(identity: "other", host: "there", version: "1"), now: now).id
        _ = try await store.enqueue([NewGraph(isGraph: false, jobs: [parent])], now: now)
        _ = try await store.exchange([], claim: ClaimRequest(slots: 1), by: ended, now: now)
        try admin.run("UPDATE halyard.daemon SET alive_until_ms = 0 WHERE id = \(ended.rawValue)")
        guard case .renewed(let life) = try await store.renew(holder, now: now) else { throw Unexpected() }
        #expect(life.hasOrphans)
        #expect(try await store.held(by: holder).isEmpty)
        #expect(try await store.rescue(RescueRequest(maxRescues: 3), by: holder, now: now).returned.count == 1)
        await store.close()
        for (table, count) in try sequentialScans(admin) { #expect(count == scans[table], "\(table)") }
    }

    /// A clock that a test moves.
    private final class MovedClock: StoreClock {
        private let time = Atomic<Int64>(1_750_000_000_000)
        var boot: String { "the only one" }
        var sinceBoot: Duration { .milliseconds(time.load(ordering: .relaxed)) }
        var wall: Timestamp { Timestamp(milliseconds: time.load(ordering: .relaxed)) }

        func advance(_ seconds: Int64) { time.wrappingAdd(seconds * 1000, ordering: .relaxed) }
    }

    @Test func searchesForDueJobsPassFewDeletedRows() async throws {
        let database = try TestDatabase()
        let admin = try Connection(to: database.url)
        let clock = MovedClock()
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(1_000_000)
        let store = try database.open(options, clock: clock)
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: clock.wall)
        let step = try #require(try await store.definitions().definitions.first).id
        let holder = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: clock.wall).id
        let snapshot = try Connection(to: database.url)
        try snapshot.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM halyard.scheduled")
        let rounds: Int64 = 60
        for _ in 0..<rounds {
            let wait = NewJob(definition: step, start: .after(.seconds(1)))
            let calendar = NewJob(definition: step, start: .at(clock.wall + .seconds(1)))
            let graphs = [wait, calendar].flatMap { job in
                Array(repeating: NewGraph(isGraph: false, jobs: [job]), count: 50)
            }
            _ = try await store.enqueue(graphs, now: clock.wall)
            clock.advance(5)
            var ended = 0
            while ended < 100 {
                let claimed = try await store.exchange(
                    [], claim: ClaimRequest(slots: 16), by: holder, now: clock.wall
                ).claimed
                let ends = claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
                ended += try await store.exchange(ends, claim: nil, by: holder, now: clock.wall).finished.count
            }
        }
        await store.close()
        try awaitEnds(admin)
        let rows = try admin.run(
            Statement(
                """
                SELECT indexrelname::text, idx_tup_read
                FROM   pg_stat_user_indexes
                WHERE  relname ~ '^scheduled'
                AND    indexrelname !~ 'pkey$'
                """))
        // Searches from the beginning, of which there are more than ten in each round, would pass 1,500 rows on average.
        #expect(rows.count > 0)
        rows.forEach { row in
            #expect(row.integer(1) < rounds * 10 * 1500 / 4, "\(row.string(0)) read \(row.integer(1)) rows")
        }
        try snapshot.run("COMMIT")
    }

    private func begin(_ store: PostgresJobStore) async throws -> HolderID {
        try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
    }

    /// Enqueues, claims and ends jobs.
    private func run(
        _ count: Int, on store: PostgresJobStore, _ step: DefinitionID, as holder: HolderID
    ) async throws -> Int {
        let job = NewJob(definition: step)
        var ended = 0
        while ended < count {
            let some = Array(repeating: NewGraph(isGraph: false, jobs: [job]), count: min(100, count - ended))
            _ = try await store.enqueue(some, now: now)
            // The jobs take longer than a life lasts on a busy machine.
            _ = try await store.renew(holder, now: now)
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 200), by: holder, now: now).claimed
            if claimed.isEmpty { return ended }
            let ends = claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
            ended += try await store.exchange(ends, claim: nil, by: holder, now: now).finished.count {
                $0 == .recorded(.succeeded)
            }
        }
        return ended
    }

    /// The entries that searches of each index of the hot tables have read. A connection reports them when it ends.
    private func rowsRead(_ admin: Connection) throws -> [String: Int64] {
        try awaitEnds(admin)
        let rows = try admin.run(
            Statement(
                """
                SELECT indexrelname::text, idx_tup_read
                FROM   pg_stat_user_indexes
                WHERE  relname ~ '^(ready|running|tally_change)'
                """))
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.string(0), $0.integer(1)) })
    }

    /// The pages that searches of each index of the hot tables have read.
    private func pagesRead(_ admin: Connection) throws -> [String: Int64] {
        try awaitEnds(admin)
        let rows = try admin.run(
            Statement(
                """
                SELECT indexrelname::text, idx_blks_hit + idx_blks_read
                FROM   pg_statio_user_indexes
                WHERE  relname ~ '^(ready|running|tally_change)'
                """))
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.string(0), $0.integer(1)) })
    }

    private func sequentialScans(_ admin: Connection) throws -> [String: Int64] {
        try awaitEnds(admin)
        let rows = try admin.run(
            Statement(
                """
                SELECT relname::text, seq_scan
                FROM   pg_stat_user_tables
                WHERE  relname ~ '^(job|ready|running|scheduled|blocked|done|dependency|attempt|tally|idempotency|graph)'
                """))
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.string(0), $0.integer(1)) })
    }

    /// Waits until the server has ended the processes of closed connections.
    private func awaitEnds(_ admin: Connection) throws {
        while try admin.run(
            """
            SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'halyard %'
            """
        ).count > 0 {}
        try admin.run("SELECT pg_stat_clear_snapshot()")
    }
}
