import CalendarEvents
import Foundation
import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// Many daemons whose transactions need the same keys, rows and settings.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(5)))
struct DeadlockTests {
    private static let daemons = 16
    private static let rounds = 12
    private let now = Timestamp(milliseconds: 0)
    private let ok = JSONText(trusted: Array("1".utf8))

    @Test func theSameKeyAtSeveralDaemonsIsOneRequest() async throws {
        let database = try TestDatabase()
        let stores = try (0..<4).map { _ in try database.open() }
        let step = try await define(in: stores[0])
        // Each daemon sends all keys, and each in another order.
        let names = (0..<50).map { "key \($0)" }
        let outcomes = try await withThrowingTaskGroup(of: [EnqueueOutcome].self) { group in
            for (number, store) in stores.enumerated() {
                let graphs = (names[(number * 12)...] + names[..<(number * 12)]).map { name in
                    NewGraph(
                        isGraph: false, jobs: [NewJob(definition: step)],
                        key: IdempotencyKey(name: name, fingerprint: 1))
                }
                group.addTask { [now] in
                    var outcomes: [EnqueueOutcome] = []
                    for graph in graphs { outcomes += try await store.enqueue([graph], now: now) }
                    return outcomes
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(outcomes.count { if case .enqueued = $0 { true } else { false } } == names.count)
        #expect(outcomes.count { if case .duplicate = $0 { true } else { false } } == 3 * names.count)
        #expect(try await stores[0].counts()[.ready] == Int64(names.count))
        for store in stores { await store.close() }
    }

    @Test func aKeyOfARefusedGraphStaysFree() async throws {
        let database = try TestDatabase()
        let store = try database.open()
        let step = try await define(in: store)
        let key = IdempotencyKey(name: "once", fingerprint: 1)
        let refused = NewGraph(isGraph: false, jobs: [NewJob(definition: step, queue: "none")], key: key)
        let good = NewGraph(isGraph: false, jobs: [NewJob(definition: step)], key: key)
        guard case .refused = try await store.enqueue([refused], now: now)[0] else { throw Unexpected() }
        #expect(try await store.outcome(of: key) == nil)
        let outcomes = try await store.enqueue([refused, good, good], now: now)
        guard case .refused = outcomes[0], case .enqueued(let receipt) = outcomes[1] else { throw Unexpected() }
        #expect(outcomes[2] == .duplicate(receipt))
        #expect(try await store.outcome(of: key) == .duplicate(receipt))
        await store.close()
    }

    @Test func sixteenDaemonsDoNotWaitForEachOtherInACircle() async throws {
        let database = try TestDatabase()
        let admin = try Connection(to: database.url)
        let stores = try (0..<Self.daemons).map { _ in try database.open() }
        let step = try await define(in: stores[0])
        let schedules = try (0..<4).map { number in
            Schedule(
                name: "s\(number)", calendar: [try CalendarExpression("minutely")], definition: "step",
                overlap: .allow)
        }
        try await stores[0].change(
            DefinitionChange(queues: [QueueChange(name: "other")], schedules: schedules), now: now)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask { try await work(number, store, step) }
            }
            try await group.waitForAll()
        }
        let deadlocks = "SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()"
        // The sessions report their numbers when they end, at the latest.
        for store in stores { await store.close() }
        try admin.run("SELECT pg_stat_force_next_flush()")
        #expect(try admin.run(deadlocks)[0].string(0) == "0", "\(reports(of: database))")
    }

    /// The server's reports of deadlocks: who waited for whom, with the statements.
    private func reports(of database: TestDatabase) -> String {
        let host = database.url.components(separatedBy: "host=").last?.removingPercentEncoding ?? ""
        // Without the log, the failure is still reported.
        let log = (try? String(contentsOfFile: host + "/server.log", encoding: .utf8)) ?? ""
        return log.components(separatedBy: "deadlock detected").dropFirst().map { $0.prefix(2000) }
            .joined(separator: "\n---\n")
    }

    private func define(in store: PostgresJobStore) async throws -> DefinitionID {
        try await store.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        return try #require(try await store.definitions().definitions.first).id
    }

    /// One daemon: several callers enqueue with the same keys as those of other daemons, cancel each other's jobs, change
    /// queues and fire schedules, while it runs jobs whose children have keys and dependencies.
    private func work(_ number: Int, _ store: PostgresJobStore, _ step: DefinitionID) async throws {
        let holder = try await store.begin(Holder(identity: "\(number)", host: "h", version: "1"), now: now).id
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<2 {
                group.addTask {
                    for round in 0..<Self.rounds { try await enqueue(round, caller + number, store, step) }
                }
            }
            group.addTask {
                for round in 0..<Self.rounds {
                    let queue = (round + number).isMultiple(of: 2) ? "other" : QueueSettings.defaultName
                    _ = try await store.change(QueueChange(name: queue, limit: 8 + (round + number) % 4), now: now)
                    for schedule in try await store.schedules() {
                        let firing = ScheduleFiring(
                            ScheduleTiming(schedule, after: schedule.afterAt, nextAt: now + .seconds(round)),
                            .enqueue(NewGraph(isGraph: false, jobs: [NewJob(definition: step)])))
                        _ = try await store.fire(firing, now: now)
                    }
                }
            }
            group.addTask {
                var ends: [AttemptEnd] = []
                for round in 0..<Self.rounds * 2 {
                    let answer = try await store.exchange(ends, claim: ClaimRequest(slots: 4), by: holder, now: now)
                    ends = answer.claimed.map { end(of: $0, round, step) }
                    if round.isMultiple(of: 3) { _ = try await store.renew(holder, now: now) }
                }
                _ = try await store.exchange(ends, claim: nil, by: holder, now: now)
            }
            try await group.waitForAll()
        }
        try await store.leave(holder, now: now)
    }

    private func enqueue(_ round: Int, _ turn: Int, _ store: PostgresJobStore, _ step: DefinitionID) async throws {
        let keys = (0..<4).map { "\(round) \(($0 + turn) % 4)" }
        let jobs = [
            NewJob(definition: step), NewJob(definition: step, dependencies: [.init(on: .new(0))]),
            NewJob(definition: step, dependencies: [.init(on: .new(1), condition: .finished)]),
        ]
        let graphs = keys.map { key in
            NewGraph(isGraph: true, jobs: jobs, key: IdempotencyKey(name: key, fingerprint: 1))
        }
        var seen: [JobID] = []
        for outcome in try await store.enqueue(graphs, now: now) {
            switch outcome {
            case .enqueued(let receipt), .duplicate(let receipt): seen += receipt.jobs
            case .refused: throw Unexpected()
            }
        }
        // Jobs of several daemons, in another order.
        let after = seen.suffix(3).map { NewDependency(on: .existing($0), condition: .finished) }
        _ = try await store.enqueue(
            [NewGraph(isGraph: false, jobs: [NewJob(definition: step, dependencies: after)])], now: now)
        _ = try await store.cancel(Array(seen.reversed().prefix(4)), now: now)
    }

    private func end(of claimed: ClaimedJob, _ round: Int, _ step: DefinitionID) -> AttemptEnd {
        guard (claimed.lease.job.rawValue + Int64(round)).isMultiple(of: 3) else {
            return AttemptEnd(lease: claimed.lease, ending: .succeeded(ok))
        }
        let children = (0..<2).map { number in
            NewGraph(
                isGraph: false,
                jobs: [
                    NewJob(
                        definition: step, dependencies: [.init(on: .existing(claimed.lease.job), condition: .finished)])
                ], key: IdempotencyKey(name: "child \((Int(claimed.lease.job.rawValue) + number) % 5)", fingerprint: 1))
        }
        return AttemptEnd(lease: claimed.lease, ending: .succeeded(ok, children: children))
    }
}
