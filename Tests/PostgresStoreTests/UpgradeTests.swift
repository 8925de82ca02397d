import Foundation
import Jobs
import OperationTypes
import PostgreSQL
import Synchronization
import Testing

@testable import PostgresStore

/// Daemons of two releases use one database while it is upgraded.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct UpgradeTests {
    private let database: TestDatabase
    private let admin: Connection
    private let now = Timestamp(milliseconds: 0)

    init() throws {
        database = try TestDatabase()
        admin = try Connection(to: database.url)
    }

    /// Changes the schema as a later release may: adds columns and tables, and creates all views again.
    private func migrate(oldest: Int = 1) throws {
        try admin.run(
            """
            BEGIN;
            CREATE TEMPORARY TABLE old_view ON COMMIT DROP AS
            SELECT oid, relname::text AS name, pg_get_viewdef(oid) AS sql
            FROM   pg_class
            WHERE  relnamespace = 'halyard'::regnamespace
            AND    relkind = 'v';
            DO $$
            DECLARE
                old record;
            BEGIN
                FOR old IN SELECT * FROM old_view ORDER BY oid DESC LOOP
                    EXECUTE format('DROP VIEW halyard.%I', old.name);
                END LOOP;
                FOR old IN SELECT relname FROM pg_class WHERE relnamespace = 'halyard'::regnamespace
                           AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'schema_version' LOOP
                    EXECUTE format('ALTER TABLE halyard.%I ADD COLUMN later text', old.relname);
                END LOOP;
                FOR old IN SELECT * FROM old_view ORDER BY oid LOOP
                    EXECUTE format('CREATE VIEW halyard.%I AS %s', old.name, old.sql);
                END LOOP;
            END $$;
            CREATE TABLE halyard.later (id bigint PRIMARY KEY);
            UPDATE halyard.schema_version SET version = version + 1, oldest = \(oldest);
            COMMIT
            """)
    }

    private func enqueue(_ store: PostgresJobStore) async throws -> JobID {
        let step = try #require(try await store.definitions().definitions.first).id
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: step)])
        guard case .enqueued(let receipt) = try await store.enqueue([graph], now: now)[0] else { throw Unexpected() }
        return receipt.jobs[0]
    }

    private func run(_ job: JobID, on store: PostgresJobStore, by holder: HolderID) async throws {
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), by: holder, now: now).claimed
        #expect(claimed.map(\.lease.job) == [job])
        let ends = claimed.map {
            AttemptEnd(lease: $0.lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))
        }
        #expect(
            try await store.exchange(ends, claim: nil, by: holder, now: now).finished == [.recorded(.succeeded)])
        #expect(try await store.job(job)?.state == .succeeded)
        #expect(try await store.jobs(JobFilter()).first?.id == job)
    }

    @Test func aDaemonOneReleaseOlderKeepsWorkingAndMayStartAgain() async throws {
        let store = try database.open()
        try await store.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let me = Holder(identity: "me", host: "here", version: "1")
        let holder = try await store.begin(me, now: now).id
        // The statements are prepared before the tables change.
        try await run(try await enqueue(store), on: store, by: holder)
        let waiting = try await enqueue(store)
        try migrate()
        try await run(waiting, on: store, by: holder)
        try await run(try await enqueue(store), on: store, by: holder)
        guard case .renewed = try await store.renew(holder, now: now) else { throw Unexpected() }
        await store.close()
        let again = try database.open()
        let next = try await again.begin(me, now: now).id
        try await run(try await enqueue(again), on: again, by: next)
        var options = PostgresStoreOptions()
        options.isBrief = true
        let command = try database.open(options)
        #expect(try await command.counts()[.succeeded] == 4)
        await command.close()
        await again.close()
        #expect(try admin.run("SELECT version FROM halyard.schema_version")[0].string(0) == "2")
    }

    @Test func aMigrationWaitsForAReaderWithoutStoppingTheDaemons() async throws {
        let store = try database.open()
        try await store.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let holder = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
        let reader = try Connection(to: database.url)
        try reader.run("BEGIN; SELECT count(*) FROM halyard.jobs")
        let migration = Migration(version: 2, sql: ["ALTER TABLE halyard.job ADD COLUMN later text"])
        let isReading = Mutex(true)
        let migrated = Latch<(failure: String?, waited: Bool)>()
        let url = database.url
        Thread.detachNewThread {
            let failure: String?
            do {
                try Connection(to: url).migrate(Migration.all + [migration])
                failure = nil
            } catch {
                failure = "\(error)"
            }
            migrated.open(with: (failure, isReading.withLock { !$0 }))
        }
        for _ in 0..<20 {
            try await run(try await enqueue(store), on: store, by: holder)
            guard case .renewed = try await store.renew(holder, now: now) else { throw Unexpected() }
        }
        #expect(!migrated.isOpen)
        isReading.withLock { $0 = false }
        try reader.run("COMMIT")
        let end = await migrated.uncancellableWait()
        #expect(end.failure == nil && end.waited)
        try await run(try await enqueue(store), on: store, by: holder)
        #expect(try admin.run("SELECT version FROM halyard.schema_version")[0].string(0) == "2")
        await store.close()
    }

    @Test func aDaemonThatIsTooOldForTheSchemaIsRefused() async throws {
        await (try database.open()).close()
        try migrate(oldest: 2)
        var brief = PostgresStoreOptions()
        brief.isBrief = true
        let refusals: [() throws -> Void] = [
            { try PostgresJobStore.check(database.url) }, { _ = try database.open() },
            { _ = try database.open(brief) },
        ]
        for open in refusals {
            let error = #expect(throws: PostgresOpenError.self) { try open() }
            guard case .schemaTooNew(_, let found, let supported) = error else { throw Unexpected() }
            #expect(found == 2 && supported == 1)
            #expect(error?.description.contains("Upgrade Halyard") == true)
        }
    }
}
