import Jobs
import Runner
import SQLite
import SQLiteStore

/// Measures the time from an acknowledged enqueue to the start of the operation on an idle engine, compared
/// with a commit of one row.
func measureStartLatency() async throws -> [Row] {
    let scratch = try Scratch()
    let engine = try await Engine(at: scratch.file("latency.db"), slots: 16)
    var latencies: [Double] = []
    for _ in 0..<500 {
        let end = FinalCount(1, in: engine.store)
        let outcomes = try await engine.store.enqueue(
            [NewGraph(isGraph: false, jobs: [engine.job()])], now: SystemWallClock().now)
        let acknowledged = ContinuousClock.now
        await end.wait()
        guard case .enqueued(let receipt) = outcomes[0], let started = engine.starts[receipt.jobs[0]] else {
            throw BenchError("a job did not start")
        }
        latencies.append((started - acknowledged) / .milliseconds(1))
    }
    try await engine.stop()
    let commits = try millisecondsPerCommit(in: scratch.file("commits.db"), count: 500)
    return [("p50", 0.5), ("p99", 0.99)].map { name, share in
        Row(
            "enqueue to start, \(name)", latencies.percentile(share), to: commits.percentile(share), "ms",
            ratio: .atMost(3))
    }
}

/// Measures the limit that the disk sets: a claim is one durable commit, and so is the insert of one row.
private func millisecondsPerCommit(in path: String, count: Int) throws -> [Double] {
    let connection = try Connection(path: path, access: .readWriteCreate)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a INTEGER)")
    let insert = try connection.prepare("INSERT INTO t VALUES (1)")
    return try (0..<count).map { _ in
        let start = ContinuousClock.now
        try insert.run()
        return start.milliseconds
    }
}
