import ControlProtocol
import Jobs
import OperationTypes
import PostgreSQL
import PostgresStore
import StoreControl
import Testing

/// Faults of connections and of the server, on real connections.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct FaultTests {
    let database: TestDatabase
    let admin: Connection
    let store: PostgresJobStore
    let holder: HolderID
    let step: DefinitionID
    let now = Timestamp(milliseconds: 0)

    init() async throws {
        database = try TestDatabase()
        admin = try Connection(to: database.url)
        store = try database.open()
        let change = DefinitionChange(definitions: [Definition(name: "step", kind: "noop")])
        try await store.change(change, now: now)
        step = try #require(try await store.definitions().definitions.first).id
        let me = Holder(identity: "me", host: "here", version: "1")
        holder = try await store.begin(me, now: now).id
    }

    private func enqueue(key: String? = nil) async throws -> EnqueueOutcome {
        let job = NewJob(definition: step)
        let graph = NewGraph(
            isGraph: false, jobs: [job], key: key.map { IdempotencyKey(name: $0, fingerprint: 1) })
        return try await store.enqueue([graph], now: now)[0]
    }

    private func claim(_ slots: Int = 10) async throws -> [ClaimedJob] {
        try await store.exchange([], claim: ClaimRequest(slots: slots), by: holder, now: now).claimed
    }

    /// Ends all connections of stores to this database.
    private func terminateAll() throws {
        try admin.run(
            """
            SELECT pg_terminate_backend(pid, 5000)
            FROM   pg_stat_activity
            WHERE  datname = current_database()
            AND    pid <> pg_backend_pid()
            """)
    }

    /// Ends the connection that commits the next rows of a table, in the middle of its commit.
    private func breakNextCommit(of table: String) throws {
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
            CREATE CONSTRAINT TRIGGER break_once AFTER INSERT ON halyard.\(table)
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION break_once();
            """)
    }

    @Test func aListenerThatWasCutOffReportsThatItMayHaveMissedChanges() async throws {
        let missed = Latch<Void>()
        let heard = Latch<Void>()
        let observation = store.observe { change in
            switch change {
            case .missed: missed.open()
            case .jobs(let changes) where changes.contains { $0.state == .ready }: heard.open()
            default: break
            }
        }
        defer { observation.cancel() }
        let ended = try admin.run(
            """
            SELECT pg_terminate_backend(pid, 5000)
            FROM   pg_stat_activity
            WHERE  datname = current_database()
            AND    application_name = 'halyard listener'
            """)
        #expect(ended.map { $0.string(0) } == ["t"])
        await missed.uncancellableWait()
        // It listens again before it reports that.
        let other = try database.open()
        _ = try await other.enqueue([NewGraph(isGraph: false, jobs: [NewJob(definition: step)])], now: now)
        await heard.uncancellableWait()
        await other.close()
        await store.close()
    }

    @Test func manyJobsAreLookedForAtOnce() async throws {
        guard case .enqueued(let receipt) = try await enqueue() else { throw Unexpected() }
        #expect(try await store.existing(receipt.jobs + (1000..<3000).map { JobID($0) }) == Set(receipt.jobs))
        await store.close()
    }

    @Test func idleConnectionsThatWereTerminatedAreMadeAgain() async throws {
        try terminateAll()
        guard case .enqueued(let receipt) = try await enqueue() else { throw Unexpected() }
        #expect(try await store.job(receipt.jobs[0])?.state == .ready)
        #expect(try await store.jobs(JobFilter()).count == 1)
        #expect(try await claim().count == 1)
        await store.close()
    }

    @Test(.timeLimit(.minutes(10))) func aServerThatNoLongerKeepsCommitsGetsNone() async throws {
        func change(_ action: String) throws {
            try admin.run("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I \(action)', current_database()); END $$")
        }
        try change("SET synchronous_commit = off")
        try terminateAll()
        let error = await #expect(throws: StoreError.self) { _ = try await enqueue() }
        guard case .unreachable(_, let message) = error else { throw Unexpected() }
        #expect(message.contains("synchronous_commit = off"))
        try change("RESET synchronous_commit")
        // The next try to connect is made after a pause.
        while true {
            do throws(StoreError) {
                _ = try await store.enqueue([NewGraph(isGraph: false, jobs: [NewJob(definition: step)])], now: now)
                break
            } catch {
                guard case .unreachable = error else { throw error }
                await Task.yield()
            }
        }
        #expect(try await store.counts()[.ready] == 1)
        await store.close()
    }

    @Test func anEnqueueWhoseCommitWasNotAnsweredIsUnknownAndItsKeySettlesIt() async throws {
        try breakNextCommit(of: "job")
        let error = await #expect(throws: StoreError.self) { _ = try await enqueue(key: "once") }
        guard case .unanswered = error else { throw Unexpected() }
        guard case .enqueued(let receipt) = try await enqueue(key: "once") else { throw Unexpected() }
        #expect(try await enqueue(key: "once") == .duplicate(receipt))
        #expect(store.condition.problem == nil)
        #expect(try await store.counts()[.ready] == 1)
        await store.close()
    }

    @Test func aControlRepeatsAnEnqueueWithAKeyWhoseAnswerWasLost() async throws {
        let kind = KindDescription(
            name: "noop", summary: "s", inputType: "I", outputType: "O", accepts: nil, offers: "O", fields: [])
        try await store.register([kind], by: holder, now: now)
        let clock = now
        let control = StoreControl(store: store, database: "/nonexistent/db", version: "1", now: { clock })
        var keyed = Submission(.definition("step"))
        keyed.key = "once"
        try breakNextCommit(of: "job")
        let answers = try await control.enqueue([keyed])
        guard case .enqueued = answers.first else { throw Unexpected() }
        #expect(try await store.jobs(JobFilter()).count == 1)
        // Without a key, the caller must look.
        try admin.run("ALTER SEQUENCE breaks RESTART")
        let problem = await #expect(throws: ControlProblem.self) {
            _ = try await control.enqueue([Submission(.definition("step"))])
        }
        #expect(problem?.code == .unknownOutcome)
        await store.close()
    }

    @Test func aFullDiskRefusesWritesUntilThereIsRoom() async throws {
        try admin.run(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON halyard.job FOR EACH STATEMENT EXECUTE FUNCTION refuse()
            """)
        let error = await #expect(throws: StoreError.self) { _ = try await enqueue() }
        guard case .diskFull = error else { throw Unexpected() }
        #expect(error?.isTransient == true)
        try admin.run("DROP TRIGGER refuse ON halyard.job")
        guard case .enqueued = try await enqueue() else { throw Unexpected() }
        await store.close()
    }

    @Test func observersOfACommitThatWasNotAnsweredLookAgain() async throws {
        try breakNextCommit(of: "job")
        let (changes, sink) = AsyncStream.makeStream(of: Void.self)
        let observation = store.observe { if case .missed = $0 { sink.yield() } }
        await #expect(throws: StoreError.self) { _ = try await enqueue(key: "once") }
        _ = await changes.first { _ in true }
        observation.cancel()
        await store.close()
    }

    @Test func observersLookAgainAfterTheListenerWasCutOff() async throws {
        let (changes, sink) = AsyncStream.makeStream(of: Void.self)
        let observation = store.observe { if case .missed = $0 { sink.yield() } }
        try admin.run(
            """
            SELECT pg_terminate_backend(pid, 5000)
            FROM   pg_stat_activity
            WHERE  datname = current_database()
            AND    application_name = 'halyard listener'
            """)
        _ = await changes.first { _ in true }
        observation.cancel()
        await store.close()
    }

    /// A standby refuses writes in the same way.
    @Test func aServerThatOnlyReadsIsUnreachableAndIsTriedAgain() async throws {
        let name = try admin.run("SELECT current_database()")[0].string(0)
        try admin.run("ALTER DATABASE \(name) SET default_transaction_read_only = on")
        try terminateAll()
        for write in [{ _ = try await enqueue() }, { _ = try await claim() }] as [() async throws -> Void] {
            let error = await #expect(throws: StoreError.self) { try await write() }
            guard case .unreachable = error else { throw Unexpected() }
        }
        let renewal = await #expect(throws: StoreError.self) { try await store.renew(holder, now: now) }
        guard case .unreachable = renewal else { throw Unexpected() }
        let changes = AsyncStream.makeStream(of: Void.self)
        let observation = store.observe { [store] change in
            if case .condition = change, store.condition.problem == nil { changes.continuation.yield() }
        }
        try Connection(to: database.serverURL).run("ALTER DATABASE \(name) RESET default_transaction_read_only")
        // A connection that was made while the server was a standby is not kept.
        _ = await changes.stream.first { _ in true }
        observation.cancel()
        guard case .enqueued = try await enqueue() else { throw Unexpected() }
        guard case .renewed = try await store.renew(holder, now: now) else { throw Unexpected() }
        await store.close()
    }

    @Test func aClaimWhoseCommitWasNotAnsweredIsSettledByTheHeldJobs() async throws {
        _ = try await enqueue()
        try breakNextCommit(of: "running")
        let error = await #expect(throws: StoreError.self) { _ = try await claim() }
        guard case .unanswered = error else { throw Unexpected() }
        #expect(try await store.held(by: holder).isEmpty)
        // The slots that the lost claim would have used are free.
        let again = try await claim()
        #expect(again.count == 1)
        #expect(try await store.held(by: holder) == again)
        await store.close()
    }

    @Test func anEndWhoseCommitWasNotAnsweredIsRecordedOnce() async throws {
        _ = try await enqueue()
        let claimed = try #require(try await claim().first)
        try breakNextCommit(of: "done")
        let end = AttemptEnd(lease: claimed.lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))
        await #expect(throws: StoreError.self) {
            _ = try await store.exchange([end], claim: nil, by: holder, now: now)
        }
        #expect(try await store.held(by: holder) == [claimed])
        let again = try await store.exchange([end], claim: nil, by: holder, now: now)
        #expect(again.finished == [.recorded(.succeeded)])
        #expect(try await store.exchange([end], claim: nil, by: holder, now: now).finished == [.leaseLost])
        await store.close()
    }

    @Test func aCheckpointWhoseCommitWasNotAnsweredIsSavedByTheNextTry() async throws {
        _ = try await enqueue()
        let claimed = try #require(try await claim().first)
        try breakNextCommit(of: "checkpoint")
        let save = CheckpointSave(lease: claimed.lease, value: JSONText(trusted: Array("[1]".utf8)))
        let error = await #expect(throws: StoreError.self) { _ = try await store.save([save], by: holder, now: now) }
        guard case .unanswered = error else { throw Unexpected() }
        #expect(try await store.checkpoint(of: claimed.lease.job) == nil)
        #expect(try await store.save([save], by: holder, now: now) == [.saved])
        let end = AttemptEnd(lease: claimed.lease, ending: .interrupted)
        let answer = try await store.exchange([end], claim: ClaimRequest(slots: 1), by: holder, now: now)
        #expect(answer.claimed.map(\.checkpoint) == [save.value])
        await store.close()
    }

    @Test func anEndWaitsForACheckpointThatABrokenConnectionStillSaves() async throws {
        _ = try await enqueue()
        let lease = try #require(try await claim().first).lease
        let zombie = try Connection(to: database.url)
        try zombie.run(
            """
            BEGIN;
            INSERT INTO halyard.checkpoint (job, attempt, saved_ms, value)
            SELECT job, attempt, 0, '1' FROM (SELECT job, attempt FROM halyard.running FOR KEY SHARE) AS held
            """)
        let (open, me, start) = (store, holder, now)
        let end = AttemptEnd(lease: lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))
        async let answer = open.exchange([end], claim: nil, by: me, now: start)
        let waits =
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try admin.run(waits).count == 0 { await Task.yield() }
        try zombie.run("COMMIT")
        #expect(try await answer.finished == [.recorded(.succeeded)])
        #expect(try await store.checkpoint(of: lease.job) == nil)
        await store.close()
    }

    @Test func manyJobsAreEnqueuedWhileAnEndWaits() async throws {
        _ = try await enqueue()
        let lease = try #require(try await claim().first).lease
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT 1 FROM halyard.running FOR UPDATE")
        let (open, me, start) = (store, holder, now)
        let end = AttemptEnd(lease: lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))
        async let answer = open.exchange([end], claim: nil, by: me, now: start)
        let waits =
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try admin.run(waits).count == 0 { await Task.yield() }
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: step)])
        _ = try await store.enqueue(Array(repeating: graph, count: 50), now: now)
        #expect(try admin.run(waits).count == 1)
        try other.run("COMMIT")
        #expect(try await answer.finished == [.recorded(.succeeded)])
        await store.close()
    }

    @Test func aTransactionOfABrokenConnectionIsEndedBeforeItsJobsAreRead() async throws {
        // A backend that still holds the lock of the life, as after a cut of the network.
        let zombie = try Connection(to: database.url)
        try zombie.run("BEGIN; SELECT pg_advisory_xact_lock_shared(1214344313, \(holder.rawValue))")
        #expect(try await store.held(by: holder).isEmpty)
        #expect(throws: PostgresError.self) { try zombie.run("SELECT 1") }
        await store.close()
    }

    @Test func aTableThatAnotherReleaseChangesMeanwhileIsReadAgain() async throws {
        guard case .enqueued(let receipt) = try await enqueue(key: "once") else { throw Unexpected() }
        let key = IdempotencyKey(name: "once", fingerprint: 1)
        #expect(try await store.outcome(of: key) == .duplicate(receipt))
        // As a migration of a newer daemon does.
        try admin.run("ALTER TABLE halyard.idempotency ALTER COLUMN jobs TYPE integer")
        #expect(try await enqueue(key: "once") == .duplicate(receipt))
        #expect(try await store.outcome(of: key) == .duplicate(receipt))
        await store.close()
    }

    @Test func aVacuumOfAWholeTableDelaysWritesOnly() async throws {
        _ = try await enqueue()
        // The lock that a vacuum of a whole table takes.
        try admin.run("BEGIN; LOCK TABLE halyard.ready, halyard.running IN ACCESS EXCLUSIVE MODE")
        let (open, me, start) = (store, holder, now)
        async let answer = open.exchange([], claim: ClaimRequest(slots: 1), by: me, now: start)
        let watcher = try Connection(to: database.url)
        let waits = """
            SELECT 1 FROM pg_locks
            WHERE  NOT granted AND locktype = 'relation'
            AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        while try watcher.run(waits).count == 0 { await Task.yield() }
        try admin.run("COMMIT")
        #expect(try await answer.claimed.count == 1)
        for table in ["ready", "running", "job", "done"] { try admin.run("VACUUM FULL halyard.\(table)") }
        _ = try await enqueue()
        #expect(try await claim().count == 1)
        await store.close()
    }

    @Test func aStoreWhoseServerRefusesItSaysSoAndRecovers() async throws {
        let name = try admin.run("SELECT current_database()")[0].string(0)
        let other = try Connection(to: database.serverURL)
        try other.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        try terminateAll()
        let error = await #expect(throws: StoreError.self) { _ = try await enqueue() }
        guard case .unreachable = error else { throw Unexpected() }
        #expect(store.condition.problem == error)
        let changes = AsyncStream.makeStream(of: Void.self)
        let observation = store.observe { [store] change in
            if case .condition = change, store.condition.problem == nil { changes.continuation.yield() }
        }
        try other.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
        // The store tries again by itself.
        _ = await changes.stream.first { _ in true }
        observation.cancel()
        guard case .enqueued = try await enqueue() else { throw Unexpected() }
        await store.close()
    }
}

struct Unexpected: Error {}
