import Foundation
import Jobs
import PostgreSQL
import PostgresStore
import Synchronization
import Testing

/// `halyard.enqueue` belongs to the transaction of its caller, and works beside daemons.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(5)))
struct TransactionTests {
    private func withWays(_ body: (TwoWays) async throws -> Void) async throws {
        try await Turns.shared.run {
            let ways = try await TwoWays()
            try await body(ways)
            await ways.close()
        }
    }

    private static let save = "halyard.enqueue('save', '{\"url\": \"https://a\"}', key => 'once')"

    /// The number of rows of each table.
    private func counts(_ connection: Connection) throws -> [String] {
        let tables = [
            "job", "graph", "dependency", "idempotency", "blocked", "scheduled", "ready", "running", "done",
            "tally_change",
        ]
        return try tables.map { try connection.run("SELECT '\($0) ' || count(*) FROM halyard.\($0)")[0].string(0) }
    }

    @Test func aRollbackLeavesNothing() async throws {
        try await withWays { ways in
            let connection = try ways.connect()
            try connection.run("SELECT halyard.enqueue('noop')")
            let before = try counts(connection)
            try connection.run(
                """
                BEGIN; SELECT \(Self.save); SELECT halyard.enqueue('noop', after => ARRAY[1]);
                SELECT halyard.enqueue('noop', delay => '1 hour'); ROLLBACK
                """)
            #expect(try counts(connection) == before)
            #expect(try await ways.store.counts()[.ready] == 1)
            // The key is free again, also after a savepoint.
            try connection.run("BEGIN; SAVEPOINT s; SELECT \(Self.save); ROLLBACK TO s")
            let answer = try connection.run(
                "SELECT is_new FROM \(Self.save.replacing("enqueue(", with: "enqueue_graph("))")
            #expect(answer[0].string(0) == "t")
            try connection.run("COMMIT")
            #expect(try await ways.store.counts()[.blocked] == 2)
        }
    }

    /// A transaction keeps the number that its first change gets, also if it enqueues much later.
    @Test(arguments: ["READ COMMITTED", "REPEATABLE READ"])
    func aJobIsCountedInATransactionThatIsOlderThanTheLastFold(isolation: String) async throws {
        try await withWays { ways in
            let caller = try ways.connect()
            let admin = try ways.connect()
            try admin.run("CREATE TABLE public.link (url text); SELECT halyard.enqueue('noop')")
            for graph in ["halyard.enqueue('noop')", "halyard.enqueue('noop', after => ARRAY[1])"] {
                let before = try await ways.store.counts()
                try caller.run("BEGIN ISOLATION LEVEL \(isolation); INSERT INTO public.link VALUES ('https://a')")
                // Later transactions, which the fold includes.
                try admin.run("INSERT INTO public.link VALUES ('https://b'); SELECT halyard.enqueue('noop')")
                try admin.run("SELECT halyard.fold_tally(subject) FROM halyard.tally_change")
                try caller.run("SELECT \(graph); COMMIT")
                for _ in 1...2 {
                    let counts = try await ways.store.counts()
                    #expect(counts[.ready] + counts[.blocked] == before[.ready] + before[.blocked] + 2, "\(graph)")
                    try admin.run("SELECT halyard.fold_tally(subject) FROM halyard.tally_change")
                }
            }
        }
    }

    /// A daemon moves jobs between the halves of a table.
    @Test func aJobThatIsMovedMeanwhileIsFound() async throws {
        try await withWays { ways in
            let rotor = try ways.connect()
            let job = try rotor.run("SELECT halyard.enqueue('noop')")[0].string(0)
            try rotor.run("BEGIN; UPDATE halyard.ready SET half = 1 - half WHERE job = \(job)")
            let url = ways.database.url
            async let calls = Self.onThreads(1) { _ in
                try Connection(to: url).run("SELECT halyard.enqueue('noop', after => ARRAY[\(job)])")[0].string(0)
            }
            let admin = try ways.connect()
            let waits =
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            while try admin.run(waits).count == 0 { await Task.yield() }
            try rotor.run("COMMIT")
            #expect(try await calls != [job])
            #expect(try await ways.store.counts()[.blocked] == 1)
        }
    }

    @Test func aRefusalNamesItsCode() async throws {
        try await withWays { ways in
            let connection = try ways.connect()
            func state(_ call: String) throws -> String? {
                do throws(PostgresError) {
                    try connection.run("SELECT halyard.enqueue(\(call))")
                    return nil
                } catch {
                    return error.sqlState + " " + error.message
                }
            }
            #expect(try state("'unfurk'") == "JH001 Unknown definition \"unfurk\"; did you mean \"unfurl\"?")
            #expect(try state("'unfurl'") == "JH002 The field \"url\" is missing; add it.")
            #expect(try state("'noop', queue => 'nett'") == "JH003 Unknown queue \"nett\"; did you mean \"net\"?")
            #expect(try state("'noop', key => 'k'") == nil)
            #expect(
                try state("'noop', key => 'k', queue => 'net'")
                    == "JH004 The key \"k\" was used for another request. Use a new key, or repeat the earlier request."
            )
            #expect(
                try state("'noop', after => ARRAY[77]")
                    == "JH005 There is no job 77 to wait for; it may have been pruned.")
            #expect(
                try state("'noop', priority => 'urgent'")
                    == "JH006 Priority: expected very_low, low, normal, high or very_high (-2 to 2), found \"urgent\".")
            #expect(
                try state("'noop', at => now(), delay => '1 s'") == "JH006 Give either \"at\" or \"delay\", not both.")
            #expect(
                try state("'noop', at => 'infinity'") == "JH006 \"at\" must be a point in time, not infinity.")
            #expect(try state("'noop', after => ARRAY[0]") == "JH006 After: expected the number of a job.")
            #expect(try state("'noop', after => ARRAY[NULL]::bigint[]") == "JH006 After: expected the number of a job.")
            for priority in ["very_high", "Very-High", "very high", "2", "+2"] {
                #expect(try state("'noop', priority => '\(priority)'") == nil)
            }
            #expect(try state("'noop', priority => '3'")?.hasPrefix("JH006") == true)
            let deepest = String(repeating: "[", count: 128) + "1" + String(repeating: "]", count: 128)
            #expect(try state("'noop', '\(deepest)'") == nil)
            let tooDeep = String(repeating: "[", count: 129) + "1" + String(repeating: "]", count: 129)
            #expect(try state("'noop', '\(tooDeep)'") == "JH006 The JSON is nested deeper than 128 levels.")
            // Brackets in strings and next to each other do not count.
            #expect(try state("'noop', '[\"\(String(repeating: "[{\\\"", count: 200))\"]'") == nil)
            #expect(try state("'noop', '[\(String(repeating: "[],", count: 200)){}]'") == nil)
        }
    }

    /// A caller that waits for a job locks it. The job cannot end for a short while, but it can be cancelled.
    @Test func theEndOfAJobWaitsForAnIdleCallerOnlyForAWhile() async throws {
        try await withWays { ways in
            let caller = try ways.connect()
            func limit() throws -> String { try caller.run("SHOW idle_in_transaction_session_timeout")[0].string(0) }
            let job = try caller.run("SELECT halyard.enqueue('noop')")[0].string(0)
            let id = JobID(try #require(Int64(job)))
            try caller.run("BEGIN")
            try caller.run("SELECT halyard.enqueue('noop')")
            #expect(try limit() == "0")
            try caller.run("SELECT halyard.enqueue('noop', after => ARRAY[\(job)])")
            #expect(try limit() == "10s")
            try caller.run("ROLLBACK")
            #expect(try limit() == "0")
            let claimed = try await ways.store.exchange(
                [], claim: ClaimRequest(slots: 1), by: ways.holder, now: TwoWays.now
            ).claimed
            try caller.run("SET idle_in_transaction_session_timeout = '300ms'")
            let waiting = try caller.run("BEGIN; SELECT halyard.enqueue('noop', after => ARRAY[\(job)])")
            #expect(waiting.count == 1)
            #expect(try await ways.store.cancel([id], now: TwoWays.now) == [.requested])
            // The server ends the caller's session.
            let end = AttemptEnd(lease: claimed[0].lease, ending: .succeeded(json("1")))
            let ended = try await ways.store.exchange([end], claim: nil, by: ways.holder, now: TwoWays.now)
            #expect(ended.finished == [.recorded(.succeeded)])
            #expect(throws: PostgresError.self) { try caller.run("COMMIT") }
            let other = try ways.connect()
            #expect(try other.run("SELECT count(*) FROM halyard.job")[0].string(0) == "1")
            // A final job is locked too: a prune waits for the caller.
            try other.run("BEGIN; SELECT halyard.enqueue('noop', after => ARRAY[\(job)])")
            #expect(try other.run("SHOW idle_in_transaction_session_timeout")[0].string(0) == "10s")
            try other.run("COMMIT")
        }
    }

    @Test func aSleepingDaemonIsWoken() async throws {
        try await withWays { ways in
            let woken = Latch()
            let observation = ways.store.observe { change in if change == .work { woken.open() } }
            defer { observation.cancel() }
            try ways.connect().run("SELECT halyard.enqueue('noop')")
            await woken.wait()
            let claimed = try await ways.store.exchange(
                [], claim: ClaimRequest(slots: 10), by: ways.holder, now: TwoWays.now
            ).claimed
            #expect(claimed.count == 1)
        }
    }

    /// While many calls arrive, the daemon looks by itself. When they end, callers notify it again.
    @Test func aBusyDaemonIsNotNotified() async throws {
        try await withWays { ways in
            let connection = try ways.connect()
            let observer = try ways.connect()
            func isAsleep() throws -> Bool {
                try observer.run("SELECT bool_and(asleep) FROM halyard.listener")[0].string(0) == "t"
            }
            let found = Mutex(0)
            let changed = Latch()
            let observation = ways.store.observe { change in if change == .work { changed.open() } }
            defer { observation.cancel() }
            #expect(try isAsleep())
            var rounds = 0
            while try isAsleep(), rounds < 100_000 {
                try connection.run("SELECT halyard.enqueue('noop')")
                rounds += 1
            }
            #expect(try !isAsleep())
            // A transaction that began before the daemon falls asleep commits after it.
            let late = try ways.connect()
            try late.run("BEGIN; SELECT halyard.enqueue('noop')")
            while try !isAsleep() { await Task.yield() }
            var jobs = 0
            func claim() async throws {
                while true {
                    let claimed = try await ways.store.exchange(
                        [], claim: ClaimRequest(slots: 1000), by: ways.holder, now: TwoWays.now
                    ).claimed
                    jobs += claimed.count
                    let ends = claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(json("1"))) }
                    if ends.isEmpty { break }
                    _ = try await ways.store.exchange(ends, claim: nil, by: ways.holder, now: TwoWays.now)
                }
                found.withLock { $0 = jobs }
            }
            try await claim()
            #expect(jobs == rounds)
            try late.run("COMMIT")
            while jobs == rounds {
                await changed.wait()
                try await claim()
            }
            #expect(jobs == rounds + 1)
        }
    }

    @Test func manySessionsBesideADaemonLoseNothing() async throws {
        try await withWays { ways in
            let sessions = 8
            let calls = 60
            let keys = 20
            let other = try ways.database.open()
            let second = try await other.begin(
                Holder(identity: "two", host: "there", version: "1"), now: TwoWays.now
            ).id
            let isOver = Flag()
            // Two daemons claim and finish all the time, and enqueue with the same keys.
            let step = try await ways.store.definitions().definitions.first { $0.definition.name == "noop" }!.id
            @Sendable func work(_ store: PostgresJobStore, _ holder: HolderID) async throws -> Int {
                var done = 0
                while true {
                    let wasOver = isOver.isSet.load(ordering: .acquiring)
                    let claimed = try await store.exchange(
                        [], claim: ClaimRequest(slots: 50), by: holder, now: TwoWays.now
                    ).claimed
                    let child = NewGraph(
                        isGraph: false, jobs: [NewJob(definition: step)],
                        key: Submission(.definition("noop"), key: "key \(done % keys)").idempotencyKey)
                    _ = try await store.enqueue([child], now: TwoWays.now)
                    let ends = claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(json("1"))) }
                    _ = try await store.exchange(ends, claim: nil, by: holder, now: TwoWays.now)
                    done += ends.count
                    if wasOver, try await store.counts().open == 0 { return done }
                }
            }
            let url = ways.database.url
            let (done, enqueued) = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
                group.addTask { (try await work(ways.store, ways.holder), 0) }
                group.addTask { (try await work(other, second), 0) }
                group.addTask {
                    let results = try await Self.onThreads(sessions) { session in
                        try Self.callMany(url, session, calls, keys)
                    }
                    isOver.isSet.store(true, ordering: .releasing)
                    return (0, results.reduce(0, +))
                }
                return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
            }
            let counts = try await ways.store.counts()
            #expect(counts.open == 0)
            let total = try ways.connect().run("SELECT count(*) FROM halyard.job")[0].string(0)
            let keyed = try ways.connect().run("SELECT count(*) FROM halyard.idempotency")[0].string(0)
            #expect(Int(keyed) == keys)
            #expect(Int(total) == enqueued + keys)
            #expect(done == enqueued + keys)
            #expect(counts[.succeeded] == Int64(done))
            await other.close()
        }
    }

    /// Enqueues single jobs, graphs, jobs that wait for others and jobs with keys that the other sessions use too.
    ///
    /// - Returns: The number of jobs without keys.
    private static func callMany(_ url: String, _ session: Int, _ calls: Int, _ keys: Int) throws -> Int {
        let connection = try Connection(to: url)
        var jobs = 0
        var last = "1"
        for call in 0..<calls {
            switch (call + session) % 5 {
            case 0:
                last = try connection.run("SELECT halyard.enqueue('noop')")[0].string(0)
                jobs += 1
            case 1:
                last = try connection.run("SELECT halyard.enqueue('save', '{\"url\": \"https://a\"}')")[0].string(0)
                jobs += 3
            case 2:
                if last == "1" { continue }
                try connection.run("SELECT halyard.enqueue('noop', after => ARRAY[\(last)])")
                jobs += 1
            case 3: try connection.run("SELECT halyard.enqueue('noop', key => 'key \((call * 7 + session) % keys)')")
            default:
                try connection.run("BEGIN; SELECT halyard.enqueue('noop'); SELECT halyard.enqueue('noop'); ROLLBACK")
            }
        }
        for key in 0..<keys { try connection.run("SELECT halyard.enqueue('noop', key => 'key \(key)')") }
        return jobs
    }

    /// Runs `body` on threads of their own, since each call blocks.
    private static func onThreads<Value: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for number in 0..<count {
                group.addTask {
                    try await withCheckedThrowingContinuation { continuation in
                        Thread.detachNewThread { continuation.resume(with: Result { try body(number) }) }
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// Opens again and again; each wait takes one opening.
private final class Latch: Sendable {
    private let stream: AsyncStream<Void>
    private let opening: AsyncStream<Void>.Continuation

    init() { (stream, opening) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func open() { opening.yield() }

    func wait() async {
        for await _ in stream { return }
    }
}

private final class Flag: Sendable {
    let isSet = Atomic(false)
}
