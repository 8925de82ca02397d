import Foundation
import Jobs
import PostgreSQL
import PostgresStore
import Testing

extension HistoryTests {
    static var options: PostgresStoreOptions {
        var options = PostgresStoreOptions()
        options.rangeJobs = width
        options.rotationPause = .zero
        return options
    }

    func open(_ options: PostgresStoreOptions = HistoryTests.options) async throws -> PostgresJobStore {
        let store = try database.open(options)
        let change = DefinitionChange(
            queues: [QueueChange(name: QueueSettings.defaultName, limit: 1000)],
            definitions: [Definition(name: "step", kind: "noop")])
        try await store.change(change, now: Self.now)
        return store
    }

    func begin(_ store: PostgresJobStore) async throws -> HolderID {
        try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: Self.now).id
    }

    /// Enqueues a job, or a graph in which every second job depends on the one before.
    static func enqueueing(
        _ count: Int = 1, on store: PostgresJobStore, isGraph: Bool = false, key: Bool = false, after: JobID? = nil
    ) async throws -> EnqueueOutcome {
        let step = try #require(try await store.definitions().definitions.first).id
        let first = after.map { [NewDependency(on: .existing($0), condition: .finished)] } ?? []
        let jobs = (0..<count).map { index in
            NewJob(
                definition: step,
                dependencies: index.isMultiple(of: 2)
                    ? first : [NewDependency(on: .new(index - 1), condition: .finished)])
        }
        let name = key ? IdempotencyKey(name: UUID().uuidString, fingerprint: 1) : nil
        return try await store.enqueue([NewGraph(isGraph: isGraph, jobs: jobs, key: name)], now: now)[0]
    }

    /// Enqueues a graph, or single jobs one after the other.
    @discardableResult
    static func enqueue(
        _ count: Int, on store: PostgresJobStore, isGraph: Bool = false, key: Bool = false, after: JobID? = nil
    ) async throws -> [JobID] {
        var jobs: [JobID] = []
        for _ in 0..<(isGraph ? 1 : count) {
            let outcome = try await enqueueing(
                isGraph ? count : 1, on: store, isGraph: isGraph, key: key, after: after)
            guard case .enqueued(let receipt) = outcome else { throw Unexpected() }
            jobs += receipt.jobs
        }
        return jobs
    }

    /// Runs jobs. The first ones fail after a retry.
    static func runJobs(
        _ count: Int, on store: PostgresJobStore, as me: HolderID, failing: Int = 0, isExact: Bool = true
    ) async throws {
        var ended = 0
        var retries = failing
        var failures = failing
        while ended < count {
            _ = try await store.renew(me, now: Self.now)
            let request = ClaimRequest(slots: min(8, count - ended))
            let claimed = try await store.exchange([], claim: request, by: me, now: Self.now).claimed
            if claimed.isEmpty, !isExact { return }
            let ends = claimed.map { job -> AttemptEnd in
                let failure = JobFailure(code: "c", message: "m")
                if retries > 0 {
                    retries -= 1
                    return AttemptEnd(lease: job.lease, ending: .retry(failure, after: .zero))
                }
                ended += 1
                if failures > 0 {
                    failures -= 1
                    return AttemptEnd(lease: job.lease, ending: .failed(failure))
                }
                return AttemptEnd(lease: job.lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))
            }
            _ = try await store.exchange(ends, claim: nil, by: me, now: Self.now)
        }
    }

    static func prune(_ store: PostgresJobStore, _ request: PruneRequest? = nil) async throws -> PruneStep {
        let request = request ?? PruneRequest(finishedBefore: later)
        var all = PruneStep(deleted: 0, next: nil)
        repeat {
            let step = try await store.prune(request, below: all.next, limit: 1000)
            all.deleted += step.deleted
            all.keptByGraph += step.keptByGraph
            all.keptByDependents += step.keptByDependents
            all.next = step.next
        } while all.next != nil
        return all
    }

    // MARK: Looking at the server

    func ranges() throws -> [Int] {
        try admin.run("SELECT first FROM halyard.range ORDER BY first").map { Int($0.string(0)) ?? 0 }
    }

    func exists(_ first: Int64) throws -> Bool {
        try !admin.run("SELECT to_regclass('halyard.job_from_\(first)')")[0].isNull(0)
    }

    func expectDropped(
        _ first: Int64, isCleared: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for table in Self.tables {
            let isGone = try admin.run("SELECT to_regclass('halyard.\(table)_from_\(first)')")[0].isNull(0)
            #expect(isGone, "\(table)_from_\(first)", sourceLocation: sourceLocation)
        }
        let rows = try admin.run("SELECT 1 FROM halyard.range WHERE first = \(first)")
        #expect(rows.count == (isCleared ? 0 : 1), sourceLocation: sourceLocation)
    }

    /// Nothing is left of any job, and all counts are zero.
    func expectEmpty(
        _ store: PostgresJobStore, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await store.counts().total == 0, sourceLocation: sourceLocation)
        for table in Self.tables + ["graph", "idempotency", "tally_change_graph"] {
            #expect(
                try admin.run("SELECT 1 FROM halyard.\(table)").count == 0, "\(table)", sourceLocation: sourceLocation)
        }
    }

    /// The ranges follow each other, and each has its partitions.
    func expectWholeHistory(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let gaps = """
            SELECT 1 FROM (SELECT below, lead(first) OVER (ORDER BY first) AS next FROM halyard.range) AS range
            WHERE next <> below
            """
        #expect(try admin.run(gaps).count == 0, sourceLocation: sourceLocation)
        for table in Self.tables {
            let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'halyard.\(table)'::regclass"
            #expect(
                try admin.run(partitions)[0].string(0) == "\(try ranges().count)", "\(table)",
                sourceLocation: sourceLocation)
        }
    }

    func forbidDeleting(from first: Int64) throws {
        try admin.run(
            """
            CREATE OR REPLACE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'a row was deleted';
            END $$
            """)
        for table in Self.tables {
            try admin.run(
                """
                CREATE TRIGGER forbid BEFORE DELETE ON halyard.\(table)_from_\(first)
                FOR EACH ROW EXECUTE FUNCTION forbid()
                """)
        }
    }

    /// Ends the connection at the end of the next transaction in which this event happens.
    func breakOnce(_ event: String, condition: String) throws {
        try admin.run(
            """
            CREATE SEQUENCE breaks;
            CREATE FUNCTION break_once() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('halyard.breaks') = 1 THEN
                    PERFORM pg_terminate_backend(pg_backend_pid());
                END IF;
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER break_once AFTER \(event) DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW WHEN (\(condition)) EXECUTE FUNCTION break_once();
            """)
    }

    /// The number of reads of partitions without the jobs. Connections report them when they end.
    func reads() throws -> [String: String] {
        while try admin.run(
            """
            SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'halyard %'
            """
        ).count > 0 {}
        try admin.run("SELECT pg_stat_clear_snapshot()")
        let rows = try admin.run(
            """
            SELECT relname, coalesce(seq_scan, 0) + coalesce(idx_scan, 0)
            FROM   pg_stat_user_tables
            WHERE  relname ~ '^(job|done|attempt|dependency)_from_1$' OR relname ~ '^(job|done|attempt)_from_150001$'
            """)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.string(0), $0.string(1)) })
    }
}

/// A program that enqueues by itself.
struct EnqueueingProgram {
    let connection: Connection

    init(_ database: TestDatabase, _ store: PostgresJobStore, now: Timestamp) async throws {
        connection = try Connection(to: database.url)
        let holder = try await store.begin(Holder(identity: "kinds", host: "h", version: "1"), now: now).id
        try await store.register(SampleDefinitions.kinds, by: holder, now: now)
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "noop", kind: "noop")]), now: now)
    }

    func enqueue() throws { try connection.run("SELECT halyard.enqueue('noop')") }
}
