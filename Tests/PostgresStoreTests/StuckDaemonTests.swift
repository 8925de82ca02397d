import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Daemons that are frozen or cut off in the middle of a transaction stop no other daemon.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized) struct StuckDaemonTests {
    let database: TestDatabase
    let admin: Connection
    let store: PostgresJobStore
    let me: HolderID
    let step: DefinitionID
    let now = Timestamp(milliseconds: 0)

    init() async throws {
        database = try TestDatabase()
        admin = try Connection(to: database.url)
        store = try database.open()
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        step = try #require(try await store.definitions().definitions.first).id
        me = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
    }

    /// Lets another daemon claim a job, and ends its life.
    private func endLife(_ name: String) async throws -> (life: HolderID, job: JobID) {
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: step)])
        _ = try await store.enqueue([graph], now: now)
        let life = try await store.begin(Holder(identity: name, host: name, version: "1"), now: now).id
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), by: life, now: now).claimed
        try admin.run("UPDATE halyard.daemon SET alive_until_ms = 0 WHERE id = \(life.rawValue)")
        return (life, try #require(claimed.first).lease.job)
    }

    private func rescue() async throws -> [JobID] {
        try await store.rescue(RescueRequest(maxRescues: 3), by: me, now: now).returned
    }

    @Test func aRescueEndsTheTransactionOfAnEndedLife() async throws {
        let (life, job) = try await endLife("frozen")
        let zombie = try Connection(to: database.url)
        try zombie.run("BEGIN; SELECT pg_advisory_xact_lock_shared(1214344313, \(life.rawValue))")
        #expect(try await rescue() == [job])
        #expect(throws: PostgresError.self) { try zombie.run("SELECT 1") }
        await store.close()
    }

    @Test func aLifeThatCannotBeRescuedYetDoesNotHoldUpTheOthers() async throws {
        let first = try await endLife("first")
        let second = try await endLife("second")
        // As a daemon does that takes back unused slots.
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT pg_advisory_xact_lock(1214344313, \(first.life.rawValue))")
        #expect(try await rescue() == [second.job])
        // It turns out to be frozen.
        var returned: [JobID] = []
        while returned.isEmpty { returned = try await rescue() }
        #expect(returned == [first.job])
        #expect(throws: PostgresError.self) { try other.run("SELECT 1") }
        await store.close()
    }

    /// The life of the other daemon expired in the outage that ended this daemon's life, or earlier or later.
    @Test(arguments: [-40, -10, 10, 40]) func anOutageIsNotACrashOfOtherDaemons(secondsLater: Int) async throws {
        let (other, job) = try await endLife("other")
        let expiry = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        try admin.run(
            """
            UPDATE halyard.daemon SET alive_until_ms = \(expiry) - 60000 WHERE id = \(me.rawValue);
            UPDATE halyard.daemon SET alive_until_ms = \(expiry) - 60000 + \(secondsLater * 1000)
            WHERE  id = \(other.rawValue);
            """)
        let next = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
        let request = RescueRequest(maxRescues: 3, after: .unrelated(reason: "The daemon lost its lease"))
        #expect(try await store.rescue(request, by: next, now: now).returned == [job])
        let attempt = try #require(try await store.attempts(of: job).first)
        let isSameOutage = abs(secondsLater) == 10
        #expect(attempt.outcome == (isSameOutage ? .interrupted : .crashed))
        #expect(
            attempt.error?.message
                == (isSameOutage
                    ? "The leases of several daemons expired together while it ran."
                    : "The daemon ended while it ran alone; see the journal from that time."))
        await store.close()
    }

    /// A daemon that looked again at once would keep a processor busy.
    @Test func aLockedDueJobIsLookedAtAgainAfterAPause() async throws {
        let wait = NewJob(definition: step, start: .after(.milliseconds(1)))
        _ = try await store.enqueue([NewGraph(isGraph: false, jobs: [wait])], now: now)
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT pg_sleep(0.01); SELECT 1 FROM halyard.scheduled FOR UPDATE")
        let begin = try serverTime()
        let locked = try await store.exchange([], claim: ClaimRequest(slots: 1), by: me, now: now)
        #expect(locked.claimed.isEmpty)
        #expect(try #require(locked.nextDueAt) >= begin + .milliseconds(100))
        try other.run("ROLLBACK")
        #expect(try await store.exchange([], claim: ClaimRequest(slots: 1), by: me, now: now).claimed.count == 1)
        await store.close()
    }

    /// A job without its trial would start together with others, and might crash the daemon with them again.
    @Test func aLockedJobKeepsItsTrial() async throws {
        let life = try await crashThreeTimes()
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT 1 FROM halyard.ready FOR UPDATE")
        let begin = try serverTime()
        let locked = try await store.exchange([], claim: ClaimRequest(slots: 9), by: life, now: now)
        #expect(locked.claimed.isEmpty)
        #expect(try #require(locked.nextDueAt) >= begin + .milliseconds(100))
        try other.run("ROLLBACK")
        #expect(try await store.exchange([], claim: ClaimRequest(slots: 9), by: life, now: now).claimed.count == 1)
        await store.close()
    }

    @Test func aLockedJobThatCannotStartHoldsUpNoOther() async throws {
        let life = try await crashThreeTimes()
        let other = try Connection(to: database.url)
        try other.run("BEGIN; SELECT 1 FROM halyard.ready FOR UPDATE")
        let queues = [QueueChange(name: QueueSettings.defaultName, isPaused: true), QueueChange(name: "other")]
        for queue in queues { _ = try await store.change(queue, now: now) }
        _ = try await store.enqueue(
            [NewGraph(isGraph: false, jobs: [NewJob(definition: step, queue: "other")])], now: now)
        #expect(try await store.exchange([], claim: ClaimRequest(slots: 9), by: life, now: now).claimed.count == 1)
        try other.run("ROLLBACK")
        await store.close()
    }

    /// Puts two jobs on trial.
    ///
    /// - Returns: The life after the last crash.
    private func crashThreeTimes() async throws -> HolderID {
        let new = NewGraph(isGraph: false, jobs: [NewJob(definition: step)])
        _ = try await store.enqueue([new, new], now: now)
        var life = me
        for _ in 1...3 {
            #expect(try await store.exchange([], claim: ClaimRequest(slots: 9), by: life, now: now).claimed.count == 2)
            life = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
            let request = RescueRequest(maxRescues: 9, after: .crashed(cause: "a test"))
            _ = try await store.rescue(request, by: life, now: now)
        }
        return life
    }

    private func serverTime() throws -> Timestamp {
        let clock = try admin.run("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text")
        return Timestamp(milliseconds: try #require(Int64(clock[0].string(0))))
    }

    @Test func theServerEndsATransactionWhoseDaemonIsSilent() async throws {
        try admin.run(
            """
            CREATE TABLE seen (value text);
            CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO halyard.seen VALUES (current_setting('idle_in_transaction_session_timeout'));
                RETURN NULL;
            END $$;
            CREATE TRIGGER see AFTER INSERT ON halyard.ready FOR EACH ROW EXECUTE FUNCTION see();
            """)
        _ = try await store.enqueue([NewGraph(isGraph: false, jobs: [NewJob(definition: step)])], now: now)
        #expect(try admin.run("SELECT value FROM seen")[0].string(0) == "15s")
        await store.close()
    }
}
