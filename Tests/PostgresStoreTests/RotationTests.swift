import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Deleted rows of hot tables do not add up while a snapshot is held, and rotation loses no job.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(5)))
struct RotationTests {
    private let database: TestDatabase
    private let admin: Connection
    private let now = Timestamp(milliseconds: 0)
    private let ok = JSONText(trusted: Array("1".utf8))
    private static let tables = ["ready", "running", "scheduled", "blocked", "tally_change_queue"]

    init() throws {
        database = try TestDatabase()
        admin = try Connection(to: database.url)
    }

    @Test func everyHotTableStaysSmallUnderAHeldSnapshot() async throws {
        let daemon = try await start()
        let snapshot = try Connection(to: database.url)
        // The snapshot keeps every deleted row, but has used no table.
        try snapshot.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_snapshot()")
        let held = try await held(by: daemon)
        var seen = try files()
        var jobs = 0
        var emptied = Dictionary(uniqueKeysWithValues: Self.tables.map { ($0, 0) })
        // Each job has had a ready and a running row, which take 200 bytes each with their index entries.
        while try emptied.values.contains(0)
            || Self.tables.prefix(2).contains(where: { try size(of: $0) > jobs * 100 })
        {
            jobs += try await daemon.run(20)
            let new = try files()
            for (half, file) in new where seen[half] != file { emptied[String(half.dropLast(2)), default: 0] += 1 }
            seen = new
        }
        try snapshot.run("COMMIT")
        try await end(held, on: daemon)
        try await expectNoJobIsLeft(on: daemon)
        await daemon.store.close()
    }

    @Test func aDumpDelaysTheEmptyingAndNothingElse() async throws {
        let daemon = try await start()
        let dump = try Connection(to: database.url)
        try dump.run("BEGIN; LOCK TABLE halyard.ready, halyard.running IN ACCESS SHARE MODE")
        let before = try files()
        try await daemon.run(20, until: { try half(of: "ready") == 1 && half(of: "running") == 1 })
        _ = try await daemon.run(1000)
        for half in ["ready_0", "running_0", "ready_1", "running_1"] { #expect(try files()[half] == before[half]) }
        try dump.run("COMMIT")
        try await daemon.run(
            20, until: { try files()["ready_0"] != before["ready_0"] && files()["running_0"] != before["running_0"] })
        try await expectNoJobIsLeft(on: daemon)
        await daemon.store.close()
    }

    @Test func aDaemonThatStartsFinishesTheRotationOfOneThatDied() async throws {
        var daemon = try await start(grace: .seconds(1_000_000))
        let before = try files()
        try await daemon.run(20, until: { try half(of: "ready") == 1 })
        let held = try await held(by: daemon)
        // The rotation's state is lost with the process.
        try admin.run(
            """
            SELECT pg_terminate_backend(pid, 5000)
            FROM   pg_stat_activity
            WHERE  datname = current_database()
            AND    application_name LIKE 'halyard %'
            """)
        await daemon.store.close()
        #expect(try files()["ready_0"] == before["ready_0"])
        daemon = try await start()
        _ = try await daemon.store.rescue(RescueRequest(maxRescues: 3), by: daemon.holder, now: now)
        try await daemon.run(20, until: { try files()["ready_0"] != before["ready_0"] })
        _ = try await daemon.store.cancel([held.scheduled, held.blocked], now: now)
        try await expectNoJobIsLeft(on: daemon)
        await daemon.store.close()
    }

    @Test func twoDaemonsRotateTheSameTables() async throws {
        let daemons = [try await start(identity: "one"), try await start(identity: "two")]
        let snapshot = try Connection(to: database.url)
        try snapshot.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_snapshot()")
        let before = try files()
        while try Self.tables.prefix(2).contains(where: { try files()["\($0)_0"] == before["\($0)_0"] }) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for daemon in daemons { group.addTask { _ = try await daemon.run(60, isAlone: false) } }
                try await group.waitForAll()
            }
        }
        try await expectNoJobIsLeft(on: daemons[0])
        for daemon in daemons { await daemon.store.close() }
    }

    @Test func anEndThatMeetsTheMoveOfItsJobIsRepeated() async throws {
        let daemon = try await start()
        let job = try await enqueue([NewJob(definition: daemon.step)], on: daemon.store)[0]
        let claimed = try await daemon.claim(1)
        #expect(claimed.map(\.lease.job) == [job])
        try admin.run("BEGIN; UPDATE halyard.running SET half = 1 - half WHERE job = \(job.rawValue)")
        async let answer = daemon.end(claimed)
        let watcher = try Connection(to: database.url)
        while try watcher.run("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'").count == 0 {
            await Task.yield()
        }
        try admin.run("COMMIT")
        #expect(try await answer == [.recorded(.succeeded)])
        try await expectNoJobIsLeft(on: daemon)
        await daemon.store.close()
    }

    /// Another program's transaction has a number, so the server's oldest open transaction does not advance.
    @Test func countsAreFoldedBesideAnOpenTransaction() async throws {
        let daemon = try await start()
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT pg_current_xact_id()")
        var jobs = 0
        while try admin.run("SELECT 1 FROM halyard.tally_fold WHERE succeeded > 0").count == 0 {
            jobs += try await daemon.run(1)
        }
        #expect(try await daemon.store.counts()[.succeeded] == Int64(jobs))
        try other.run("COMMIT")
        await daemon.store.close()
    }

    /// Two folds at once could set the largest number of all folds back.
    @Test func oneFoldRunsAtATime() async throws {
        let daemon = try await start()
        _ = try await enqueue([NewJob(definition: daemon.step)], on: daemon.store)
        let fold = "SELECT halyard.fold_tally(subject) FROM halyard.tally_change"
        func changes() throws -> String { try admin.run("SELECT count(*) FROM halyard.tally_change")[0].string(0) }
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT halyard.fold_tally(0)")
        #expect(try admin.run(fold).map { $0.string(0) }.allSatisfy { $0 == "f" })
        #expect(try changes() != "0")
        try other.run("COMMIT")
        try admin.run(fold)
        #expect(try changes() == "0")
        #expect(try await daemon.store.counts()[.ready] == 1)
        await daemon.store.close()
    }

    // MARK: Work

    private static let bytes = 100_000

    /// A daemon with small tables.
    private struct Daemon: Sendable {
        let store: PostgresJobStore
        let holder: HolderID
        let step: DefinitionID
        let now: Timestamp
        let ok: JSONText

        func claim(_ slots: Int) async throws -> [ClaimedJob] {
            try await store.exchange([], claim: ClaimRequest(slots: slots), by: holder, now: now).claimed
        }

        func end(_ claimed: [ClaimedJob]) async throws -> [FinishResult] {
            let ends = claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(ok)) }
            return try await store.exchange(ends, claim: nil, by: holder, now: now).finished
        }

        /// Enqueues graphs whose jobs pass through all hot tables, and runs jobs until as many have ended, or beside
        /// another daemon until none is open.
        ///
        /// - Returns: The number of jobs that have ended.
        @discardableResult
        func run(_ graphs: Int, isAlone: Bool = true) async throws -> Int {
            let jobs = [
                NewJob(definition: step), NewJob(definition: step, dependencies: [NewDependency(on: .new(0))]),
                NewJob(definition: step, start: .after(.milliseconds(1))),
            ]
            let graph = NewGraph(isGraph: true, jobs: jobs)
            _ = try await store.enqueue(Array(repeating: graph, count: graphs), now: now)
            var ended = 0
            while isAlone ? ended < 3 * graphs : try await store.counts().open > 0 {
                // The jobs take longer than a life lasts on a busy machine.
                _ = try await store.renew(holder, now: now)
                let claimed = try await claim(3 * graphs)
                let finished = try await end(claimed)
                #expect(finished.allSatisfy { $0 == .recorded(.succeeded) })
                ended += finished.count
            }
            return ended
        }

        func run(_ graphs: Int, until isDone: () throws -> Bool) async throws {
            while try !isDone() { try await run(graphs) }
        }
    }

    private func start(identity: String = "me", grace: Duration = .zero) async throws -> Daemon {
        var options = PostgresStoreOptions()
        options.rotationBytes = Self.bytes
        options.rotationPause = .zero
        options.rotationGrace = grace
        let store = try database.open(options)
        let change = DefinitionChange(
            queues: [QueueChange(name: QueueSettings.defaultName, limit: 1000), QueueChange(name: "paused")],
            definitions: [Definition(name: "step", kind: "noop")])
        try await store.change(change, now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let holder = try await store.begin(Holder(identity: identity, host: "here", version: "1"), now: now).id
        return Daemon(store: store, holder: holder, step: step, now: now, ok: ok)
    }

    private func enqueue(_ jobs: [NewJob], on store: PostgresJobStore) async throws -> [JobID] {
        guard case .enqueued(let receipt) = try await store.enqueue([NewGraph(isGraph: true, jobs: jobs)], now: now)[0]
        else { throw Unexpected() }
        return receipt.jobs
    }

    /// Jobs that stay in their tables while others come and go.
    private struct Held {
        var running: ClaimedJob
        var ready: JobID
        var scheduled: JobID
        var blocked: JobID
    }

    private func held(by daemon: Daemon) async throws -> Held {
        _ = try await daemon.store.change(QueueChange(name: "paused", isPaused: true), now: now)
        _ = try await enqueue([NewJob(definition: daemon.step)], on: daemon.store)
        let running = try #require(try await daemon.claim(1).first)
        let jobs = try await enqueue(
            [
                NewJob(definition: daemon.step, queue: "paused"),
                NewJob(definition: daemon.step, start: .after(.seconds(365 * 86400))),
                NewJob(definition: daemon.step, dependencies: [NewDependency(on: .new(1))]),
            ], on: daemon.store)
        return Held(running: running, ready: jobs[0], scheduled: jobs[1], blocked: jobs[2])
    }

    private func end(_ held: Held, on daemon: Daemon) async throws {
        _ = try await daemon.store.renew(daemon.holder, now: now)
        #expect(try await daemon.end([held.running]) == [.recorded(.succeeded)])
        _ = try await daemon.store.change(QueueChange(name: "paused", isPaused: false), now: now)
        let ready = try await daemon.claim(1)
        #expect(ready.map(\.lease.job) == [held.ready])
        #expect(try await daemon.end(ready) == [.recorded(.succeeded)])
        #expect(try await daemon.store.job(held.scheduled)?.state == .scheduled)
        #expect(try await daemon.store.job(held.blocked)?.state == .blocked)
        let cancelled = try await daemon.store.cancel([held.scheduled, held.blocked], now: now)
        #expect(cancelled == [.cancelled, .cancelled])
    }

    private func expectNoJobIsLeft(on daemon: Daemon) async throws {
        _ = try await daemon.store.renew(daemon.holder, now: now)
        var rest = try await daemon.claim(100)
        while !rest.isEmpty {
            _ = try await daemon.end(rest)
            rest = try await daemon.claim(100)
        }
        #expect(
            try await daemon.store.counts().total
                == Int64(try admin.run("SELECT count(*) FROM halyard.job")[0].string(0)))
        for table in Self.tables[1...3] {
            #expect(try admin.run("SELECT 1 FROM halyard.\(table)").count == 0, "\(table)")
        }
    }

    // MARK: Looking at the server

    /// The file of each half, which changes when the half is emptied.
    private func files() throws -> [String: Int64] {
        let rows = try admin.run(
            Statement(
                """
                SELECT relname::text, relfilenode::bigint
                FROM   pg_class
                WHERE  relnamespace = 'halyard'::regnamespace
                AND    relkind = 'r'
                AND    relname ~ '_[01]$'
                """))
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.string(0), $0.integer(1)) })
    }

    private func size(of table: String) throws -> Int {
        Int(
            try admin.run(
                "SELECT pg_total_relation_size('halyard.\(table)_0') + pg_total_relation_size('halyard.\(table)_1')")[0]
                .string(0)) ?? 0
    }

    private func half(of table: String) throws -> Int {
        let bit = Self.tables.firstIndex(of: table)!
        return Int(try admin.run("SELECT last_value >> \(bit) & 1 FROM halyard.halves")[0].string(0)) ?? 0
    }
}
