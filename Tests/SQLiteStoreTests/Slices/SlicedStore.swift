import Jobs
import SQLite
import Synchronization
import Testing

@testable import SQLiteStore

/// A store that a test can stop in the middle of long work and start again.
final class SlicedStore: @unchecked Sendable {
    // SAFETY: one test uses it, from one task at a time.
    private(set) var store: SQLiteJobStore
    let definition: DefinitionID
    private let directory: TemporaryDirectory
    private let now = Timestamp(milliseconds: 1_750_000_000_000)

    init() async throws {
        directory = try TemporaryDirectory()
        store = try directory.open()
        try await store.change(
            DefinitionChange(
                queues: [QueueChange(name: QueueSettings.defaultName, limit: 10_000)],
                definitions: [Definition(name: "a", kind: "b")]), now: now)
        definition = try await store.definitions().definitions[0].id
    }

    var database: String { directory.database }

    var everything: PruneRequest { PruneRequest(finishedBefore: now + .seconds(3600)) }

    // MARK: Graphs

    /// A job and others that wait for it.
    func fan(_ dependents: Int, input: JSONText? = nil) -> NewGraph {
        let dependent = NewJob(definition: definition, input: input, dependencies: [NewDependency(on: .new(0))])
        return NewGraph(
            isGraph: true,
            jobs: [NewJob(definition: definition, input: input)] + Array(repeating: dependent, count: dependents))
    }

    /// The same with the job last, and half of the others waiting only for its end.
    func reversedFan(_ dependents: Int) -> NewGraph {
        let jobs = (0..<dependents).map { index in
            NewJob(
                definition: definition,
                dependencies: [
                    NewDependency(on: .new(dependents), condition: index % 2 == 0 ? .succeeded : .finished)
                ])
        }
        return NewGraph(isGraph: true, jobs: jobs + [NewJob(definition: definition)])
    }

    func enqueue(_ graph: NewGraph) async throws -> EnqueueReceipt {
        let outcome = try await store.enqueue([graph], now: now)[0]
        guard case .enqueued(let receipt) = outcome else { throw Unexpected(what: "\(outcome)") }
        return receipt
    }

    struct Unexpected: Error {
        let what: String
    }

    // MARK: Running

    /// Claims and ends one job.
    func finishFirst(_ ending: AttemptEnd.Ending) async throws {
        let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), now: now).claimed
        let lease = try #require(claimed.first?.lease)
        _ = try await store.exchange([AttemptEnd(lease: lease, ending: ending)], claim: nil, now: now)
    }

    func finishedJob(_ ending: AttemptEnd.Ending) async throws -> JobID {
        let job = try await enqueue(NewGraph(isGraph: false, jobs: [NewJob(definition: definition)])).jobs[0]
        try await finishFirst(ending)
        return job
    }

    /// Runs everything that is due to success, until long work has ended, too.
    func runAll() async throws {
        var ends: [AttemptEnd] = []
        while true {
            let answer = try await store.exchange(ends, claim: ClaimRequest(slots: 200), now: now)
            ends = answer.claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(.emptyObject)) }
            if ends.isEmpty, try await !hasLongWork() { return }
        }
    }

    private func hasLongWork() async throws -> Bool {
        try await store.write { (writer) throws(SQLiteError) in
            writer.hasLongWork || writer.memory.liveQueues.contains { writer.memory.queues[$0].claimable > 0 }
        }
    }

    /// Sends requests until long work has ended, since a slice follows each request.
    func awaitLongWork() async throws {
        while try await store.write({ (writer) throws(SQLiteError) in writer.hasLongWork }) {}
    }

    // MARK: Stopping in the middle

    /// Runs `body` in one transaction and then stops, as if the process had ended: no slice of open work follows.
    func stop(after body: @escaping @Sendable (Writer) throws(SQLiteError) -> Void) async throws {
        try await store.write { (writer) throws(SQLiteError) in
            try body(writer)
            writer.memory.work = []
        }
        await store.close()
    }

    /// Stores the parts of a graph without accepting it.
    func stage(_ graph: NewGraph) async throws -> StagedGraph {
        guard case .begun(let staged) = try await store.stage(graph) else { throw Unexpected(what: "not staged") }
        return staged
    }

    func restart() async throws {
        await store.close()
        try reopen()
    }

    /// Opens the store again after it was closed.
    func reopen(_ options: StoreOptions = StoreOptions(watchesFiles: false)) throws {
        store = try directory.open(options)
    }

    // MARK: Checking

    func count(_ sql: SQL) throws -> Int64 {
        let connection = try Connection(path: directory.database, access: .readOnly)
        return try connection.integer(sql) ?? 0
    }

    /// Checks that every stored count matches the rows.
    func check() async throws {
        try await awaitLongWork()
        #expect(
            try count(
                """
                SELECT count(*) FROM tally
                WHERE  blocked + scheduled + ready + running + succeeded + failed + cancelled + skipped
                       <> (SELECT count(*) FROM job WHERE job.queue_id = tally.queue_id)
                OR     blocked <> (SELECT count(*) FROM job WHERE job.queue_id = tally.queue_id AND state = 0)
                OR     ready <> (SELECT count(*) FROM job WHERE job.queue_id = tally.queue_id AND state = 2)
                """) == 0)
        #expect(
            try count(
                """
                SELECT count(*) FROM graph
                WHERE  blocked <> (SELECT count(*) FROM job WHERE job.graph_id = graph.id AND state = 0)
                OR     blocked + scheduled + ready + running + succeeded + failed + cancelled + skipped
                       <> (SELECT count(*) FROM job WHERE job.graph_id = graph.id)
                """) == 0)
        // A blocked job's pending count is the number of its open dependencies.
        #expect(
            try count(
                """
                SELECT count(*) FROM job
                WHERE  state = 0
                AND    pending <> (SELECT     count(*)
                                   FROM       dependency
                                   CROSS JOIN job AS other ON other.id = dependency.dependency_id
                                   WHERE      dependency.dependent_id = job.id
                                   AND        other.state < 4)
                """) == 0)
        #expect(try count("SELECT count(*) FROM staged_part") == 0)
        #expect(try count("SELECT count(*) FROM settling") == 0)
        #expect(try count("SELECT count(*) FROM cancelling") == 0)
        #expect(try count("SELECT count(*) FROM pruning") == 0)
    }
}

/// The number of jobs that changed in each commit.
final class CommitSizes: Sendable {
    private let sizes = Mutex<[Int]>([])
    private let observation = Mutex<StoreObservation?>(nil)

    init(_ store: SQLiteJobStore) {
        let observed = store.observe { [weak self] change in
            if case .jobs(let jobs) = change { self?.sizes.withLock { $0.append(jobs.count) } }
        }
        observation.withLock { $0 = observed }
    }

    var all: [Int] { sizes.withLock(\.self) }
}

extension Writer {
    var hasLongWork: Bool { !memory.work.isEmpty }
}
