import Foundation
import Jobs
import Moving
import PostgreSQL
import PostgresStore
import SQLite
import SQLiteStore
import Testing

/// Jobs are safe from what happens around a move.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .timeLimit(.minutes(5))) struct MoveSafetyTests {
    private let now = Timestamp(milliseconds: 1_750_000_000_000)

    private func define(_ store: any JobStore, _ name: String = "step") async throws -> DefinitionID {
        try await store.change(DefinitionChange(definitions: [Definition(name: name, kind: "noop")]), now: now)
        let definitions = try await store.definitions().definitions
        return try #require(definitions.first(where: { $0.definition.name == name })).id
    }

    private func withFile() async throws -> TwoDatabases {
        let both = try TwoDatabases()
        let file = try both.openFile()
        _ = try await define(file)
        await file.close()
        return both
    }

    private func withServer() async throws -> TwoDatabases {
        let both = try TwoDatabases()
        let server = try both.openServer()
        _ = try await define(server)
        await server.close()
        return both
    }

    @Test func aJobThatCrashedItsProcessIsStillASuspect() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let file = try both.openFile()
            let step = try await define(file)
            let job = NewGraph(isGraph: false, jobs: [NewJob(definition: step, queue: "default")])
            _ = try await file.enqueue([job, job, job], now: now)
            await file.close()
            // Job 1 crashed its process and was interrupted, job 2 failed after a crash.
            let connection = try SQLite.Connection(path: both.path, access: .readWrite)
            try connection.execute(
                """
                UPDATE job SET attempt = 2, rescues = 1, tries = id - 1, started_ms = 1 WHERE id < 3;
                INSERT INTO attempt (job_id, number, outcome, started_ms, ended_ms, code, message)
                VALUES (1, 1, 5, 1, 1, 'crashed', ''), (1, 2, 4, 1, 1, 'interrupted', ''),
                       (2, 1, 5, 1, 1, 'crashed', ''), (2, 2, 1, 1, 1, 'failed', '')
                """)
            _ = try both.moveToServer()
            let server = try both.openServer()
            let me = try await server.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
            let claimed = try await server.exchange([], claim: ClaimRequest(slots: 9), by: me, now: now).claimed
            #expect(claimed.map(\.lease.job).sorted() == [JobID(1), JobID(2), JobID(3)])
            #expect(claimed.filter(\.isSuspect).map(\.lease.job) == [JobID(1)])
            await server.close()
            let places = try PostgreSQL.Connection(to: both.url).run(
                "SELECT count(*) FROM halyard.running JOIN halyard.lane ON lane.id = running.lane WHERE class = 3")
            #expect(places[0].string(0) == "1")
        }
    }

    @Test func aProgramThatEnqueuesDuringTheMoveWaitsAndIsRefused() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let server = try both.openServer()
            let me = try await server.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
            try await server.register(SampleDefinitions.kinds, by: me, now: now)
            _ = try await define(server)
            try await server.leave(me, now: now)
            await server.close()
            // The definition can be enqueued.
            try PostgreSQL.Connection(to: both.url).run("SELECT halyard.enqueue('step')")
            let call = Call(both.url)
            let report = try both.moveToFile { Calling($0, call) }
            #expect(report.counts.total == 1)
            let error = await call.error()
            #expect(error?.message.contains("were moved to") == true)
            let file = try both.openFile()
            #expect(try await file.counts().total == 1)
            await file.close()
        }
    }

    @Test func theRestOfADroppedRangeIsNotMoved() async throws {
        try await Turns.shared.run {
            let both = try await withServer()
            try PostgreSQL.Connection(to: both.url).run(
                """
                INSERT INTO halyard.graph (id, name, enqueued_ms, first_job, jobs) VALUES (1, 'gone', 0, 5, 1);
                INSERT INTO halyard.idempotency (key, fingerprint, graph, first_job, jobs) VALUES ('gone', 1, 1, 5, 1);
                INSERT INTO halyard.kept (job, home) VALUES (5, 'other');
                SELECT setval('halyard.job_number', (SELECT below FROM halyard.range WHERE first = 1)),
                       setval('halyard.graph_number', 1);
                UPDATE halyard.range SET is_closed = true, is_dropped = true, first_graph = 1, last_graph = 1
                WHERE first = 1
                """)
            do {
                let source = try PostgresMoveSource(both.url, options: PostgresStoreOptions())
                #expect(try source.jobsOfOtherHomes(than: nil).isEmpty)
            }
            let report = try both.moveToFile()
            #expect(report.digests[.graphs]?.count == 0)
            #expect(report.digests[.keys]?.count == 0)
        }
    }

    @Test func aFileIsIdentifiedByItsMachineToo() async throws {
        let both = try await withFile()
        // Some containers have no such file.
        let machine = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ""
        let source = try SQLiteMoveSource(try DatabaseLock.acquire(forDatabaseAt: both.path))
        #expect(source.key == String(machine.prefix { $0 > " " }) + source.place)
    }

    // MARK: Complete copies

    @Test func aCompleteCopyIsUsedIfTheSourceIsUnchanged() async throws {
        try await Turns.shared.run {
            for isToServer in [true, false] {
                let both = isToServer ? try await withFile() : try await withServer()
                let failure = #expect(throws: UnendedMove.self) {
                    if isToServer {
                        _ = try both.moveToServer(source: { Marking($0) })
                    } else {
                        _ = try both.moveToFile(source: { Marking($0) })
                    }
                }
                #expect(failure?.cause is Marking.Failed)
                let report = isToServer ? try both.moveToServer { Whole($0) } : try both.moveToFile { Whole($0) }
                #expect(report.digests[.definitions]?.count == 1)
                let store: any JobStore = isToServer ? try both.openServer() : try both.openFile()
                #expect(try await store.definitions().definitions.count == 1)
                if let server = store as? PostgresJobStore { await server.close() }
                if let file = store as? SQLiteJobStore { await file.close() }
            }
        }
    }

    @Test func aCompleteCopyIsKeptIfTheSourceHasChanged() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            #expect(throws: UnendedMove.self) { try both.moveToServer(source: { Marking($0) }) }
            let problem = #expect(throws: PostgresOpenError.self) { try both.openServer() }
            #expect(problem?.description.contains("drop the schema") == false)
            let file = try both.openFile()
            _ = try await define(file, "another")
            await file.close()
            let failure = #expect(throws: MoveFailure.self) { try both.moveToServer() }
            #expect(failure?.cause == .refused)
            #expect(failure?.description.contains("contains a complete copy") == true)
            #expect(failure?.details.contains { $0.hasPrefix("definitions: 2 rows") } == true)
            let left = try PostgreSQL.Connection(to: both.url).run("SELECT count(*) FROM halyard.definition")
            #expect(left[0].string(0) == "1")
        }
    }

    // MARK: The target

    @Test func whatAProgramAddsToTheTargetStays() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            let source = try SQLiteMoveSource(try DatabaseLock.acquire(forDatabaseAt: both.path))
            let target = try PostgresMoveTarget(both.url, options: PostgresStoreOptions())
            let connection = try PostgreSQL.Connection(to: both.url)
            try connection.run(
                """
                INSERT INTO halyard.graph_definition (name, revision, body, updated_ms) VALUES ('theirs', 1, '{}', 0)
                """)
            let failure = #expect(throws: MoveFailure.self) {
                try Move(from: source, to: target) { _ in }.run(id: "1", at: now) {}
            }
            #expect(failure?.cause == .busy)
            #expect(try connection.run("SELECT name FROM halyard.graph_definition")[0].string(0) == "theirs")
        }
    }

    @Test func aFailureWhileTheFormerSchemaIsSetAsideChangesNothing() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            _ = try both.moveToServer()
            _ = try both.moveToFile()
            let connection = try PostgreSQL.Connection(to: both.url)
            let look = """
                SELECT (SELECT string_agg(nspname, ',') FROM pg_namespace WHERE nspname LIKE 'halyard%')
                       || (SELECT identity FROM halyard.settings) || (SELECT role || place FROM halyard.move)
                """
            let before = try connection.run(look)[0].string(0)
            #expect(before.hasPrefix("halyard"))
            // The mark's trigger is the last step.
            try connection.run(
                """
                CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no triggers'; END $$;
                CREATE EVENT TRIGGER failing ON ddl_command_end WHEN TAG IN ('CREATE TRIGGER') EXECUTE FUNCTION fail()
                """)
            let error = #expect(throws: PostgresError.self) { try both.moveToServer() }
            #expect(error?.message.contains("no triggers") == true)
            #expect(try connection.run(look)[0].string(0) == before)
            try connection.run("DROP EVENT TRIGGER failing")
            _ = try both.moveToServer()
            let server = try both.openServer()
            #expect(try await server.definitions().definitions.count == 1)
            await server.close()
        }
    }

    @Test func aDaemonThatWasCutOffDuringTheMoveIsRefused() async throws {
        try await Turns.shared.run {
            let both = try await withServer()
            let cutOff = try both.openServer()
            _ = try both.moveToFile()
            let error = await #expect(throws: StoreError.self) {
                try await cutOff.begin(Holder(identity: "me", host: "here", version: "1"), now: now)
            }
            guard case .moved(let message)? = error else { throw Unexpected() }
            #expect(message.contains("were moved to"))
            #expect(error?.isTransient == false)
            await cutOff.close()
        }
    }

    @Test func aMovedDatabaseTakesNoRows() async throws {
        try await Turns.shared.run {
            let both = try await withServer()
            _ = try both.moveToFile()
            let connection = try PostgreSQL.Connection(to: both.url)
            for table in ["daemon", "job", "done", "queue", "definition", "graph_definition", "schedule"] {
                let error = #expect(throws: PostgresError.self) {
                    try connection.run("INSERT INTO halyard.\(table) DEFAULT VALUES")
                }
                #expect(error?.message.contains("were moved to") == true, "\(table)")
            }
        }
    }
}

/// A call of `halyard.enqueue` in another thread.
private final class Call: Sendable {
    private let url: String
    private let result = AsyncStream<PostgresError?>.makeStream()

    init(_ url: String) { self.url = url }

    func begin() {
        Thread.detachNewThread { [url, result] in
            do throws(PostgresError) {
                let connection = try PostgreSQL.Connection(to: url)
                try connection.run("SET application_name = 'caller'")
                try connection.run("SELECT halyard.enqueue('step')")
                result.continuation.yield(nil)
            } catch {
                result.continuation.yield(error)
            }
            result.continuation.finish()
        }
    }

    /// Returns when the call waits for a lock.
    func awaitLock() throws {
        try PostgreSQL.Connection(to: url).run(
            """
            DO $$
            BEGIN
                FOR look IN 1..6000 LOOP
                    PERFORM pg_stat_clear_snapshot();
                    IF EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
                               AND application_name = 'caller' AND wait_event_type = 'Lock') THEN
                        RETURN;
                    END IF;
                    PERFORM pg_sleep(0.01);
                END LOOP;
                RAISE 'the call does not wait';
            END $$
            """)
    }

    /// The error of the call; nil if it enqueued.
    func error() async -> PostgresError? {
        for await error in result.stream { return error }
        return nil
    }
}

/// Begins a call between copying and comparing.
private final class Calling: MoveTarget {
    private let target: any MoveTarget
    private let call: Call

    init(_ target: any MoveTarget, _ call: Call) { (self.target, self.call) = (target, call) }

    var place: String { target.place }
    var key: String { target.key }
    var content: MoveContent { target.content }
    func begin(_ mark: MoveMark, _ clock: MoveClock) throws { try target.begin(mark, clock) }
    func add(_ batch: FactBatch) throws { try target.add(batch) }

    func complete() throws {
        call.begin()
        try call.awaitLock()
        try target.complete()
    }

    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try target.read(table, body) }
    func markVerified() throws { try target.markVerified() }
    func finish() throws { try target.finish() }
}

/// A target that contains a complete copy already.
private final class Whole: MoveTarget {
    struct Copied: Error {}

    private let target: any MoveTarget

    init(_ target: any MoveTarget) { self.target = target }

    var place: String { target.place }
    var key: String { target.key }
    var content: MoveContent { target.content }
    func begin(_ mark: MoveMark, _ clock: MoveClock) throws { throw Copied() }
    func add(_ batch: FactBatch) throws { throw Copied() }
    func complete() throws { throw Copied() }
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try target.read(table, body) }
    func markVerified() throws { throw Copied() }
    func finish() throws { try target.finish() }
}

/// A source that cannot be marked as moved.
private final class Marking: MoveSource {
    struct Failed: Error {}

    private let source: any MoveSource

    init(_ source: any MoveSource) { self.source = source }

    var place: String { source.place }
    var key: String { source.key }
    var mark: MoveMark? { source.mark }
    func settle() throws { try source.settle() }
    func clock() throws -> MoveClock { try source.clock() }
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try source.read(table, body) }
    func markMoved(_ mark: MoveMark) throws { throw Failed() }
}
