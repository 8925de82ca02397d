import CBaseline
import Jobs
import Runner
import SQLiteStore

/// Enqueue → claim → run a no-op → result stored, `synchronous=FULL`: 20,000 jobs with 256 running at once, against a C
/// loop on a minimal schema with 256 jobs in a transaction.
func measureLifeOfAJob() async throws -> Row {
    let jobs = 20_000
    let batch = 256
    var ours: [Double] = []
    var baseline: [Double] = []
    for _ in 0..<5 {
        let scratch = try Scratch()
        let engine = try await Engine(at: scratch.file("ours.db"), slots: batch)
        let end = FinalCount(jobs, in: engine.store)
        let clock = ContinuousClock()
        let start = clock.now
        for first in stride(from: 0, to: jobs, by: batch) {
            let graphs = (first..<min(first + batch, jobs)).map { _ in NewGraph(isGraph: false, jobs: [engine.job()]) }
            _ = try await engine.store.enqueue(graphs, now: SystemWallClock().now)
        }
        await end.wait()
        ours.append(Double(jobs) / ((clock.now - start) / .seconds(1)))
        try await engine.stop()

        let rate = halyard_baseline_run(scratch.file("c.db"), Int32(jobs), Int32(batch))
        guard rate > 0 else { throw BenchError("the C loop failed") }
        baseline.append(rate)
    }
    let ratio = ours.median / baseline.median
    return Row(
        name: "life of a job, 256 at once", ratio: ratio, ours: ours.median, baseline: baseline.median, unit: "jobs/s",
        limit: "≥ 0.5", holds: ratio >= 0.5)
}
