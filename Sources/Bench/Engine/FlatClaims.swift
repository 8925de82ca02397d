import Jobs
import Runner
import SQLite
import SQLiteStore

/// Measures a claim among 1,000,000 other rows, compared with 10,000. A third each of the rows are finished,
/// scheduled and blocked.
func measureFlatClaims() async throws -> Row {
    let scratch = try Scratch()
    let few = scratch.file("few.db")
    let many = scratch.file("many.db")
    try await fill(few, rows: 10_000)
    try await fill(many, rows: 1_000_000)
    let medians = try await medians(ofRounds: 7) {
        [try await microsecondsPerClaim(in: many), try await microsecondsPerClaim(in: few)]
    }
    return Row("a claim among 1,000,000 rows", medians[0], to: medians[1], "µs/job", ratio: .atMost(1.2))
}

private func fill(_ path: String, rows: Int) async throws {
    let (lock, store, _) = try await openNoOpStore(at: path, limit: QueueSettings.maxLimit)
    await store.close()
    defer { lock.release() }
    let connection = try Connection(path: path, access: .readWrite)
    // One third each of succeeded, scheduled and blocked jobs. The scheduled ones are due in the far future.
    try connection.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO job (id, state, queue_id, priority, definition_id, attempt, tries, rescues, dependencies, pending,
                         enqueued_ms, due_ms, started_ms, finished_ms)
        SELECT i, CASE i % 3 WHEN 0 THEN 4 WHEN 1 THEN 1 ELSE 0 END, 1, 0, 1, i % 3 = 0, 0, 0, i % 3 = 2, i % 3 = 2,
               1, CASE WHEN i % 3 = 1 THEN 9999999999999 END, CASE WHEN i % 3 = 0 THEN 2 END, CASE WHEN i % 3 = 0 THEN 3 END
        FROM   n
        """)
    try connection.execute("UPDATE meta SET next_job_id = \(rows + 1)")
}

private func microsecondsPerClaim(in path: String) async throws -> Double {
    let jobs = 2560
    let batch = 256
    let (lock, store, definition) = try await openNoOpStore(at: path, limit: QueueSettings.maxLimit)
    let now = SystemWallClock().now
    _ = try await store.enqueue(
        [NewGraph(isGraph: false, jobs: (0..<jobs).map { _ in NewJob(definition: definition, input: NoOp.input) })],
        now: now)
    let holder = try await store.anyHolder(now: now)
    var ends: [AttemptEnd] = []
    let start = ContinuousClock.now
    for _ in 0..<jobs / batch {
        let exchange = try await store.exchange(ends, claim: ClaimRequest(slots: batch), by: holder, now: now)
        guard exchange.claimed.count == batch else { throw BenchError("\(exchange.claimed.count) jobs were claimed") }
        ends = exchange.claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(NoOp.output)) }
    }
    let time = ContinuousClock.now - start
    _ = try await store.exchange(ends, claim: nil, by: holder, now: now)
    await store.close()
    lock.release()
    return (time / .microseconds(1)) / Double(jobs)
}
