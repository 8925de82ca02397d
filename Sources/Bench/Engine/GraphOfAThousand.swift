import Jobs
import Runner
import SQLiteStore

/// Measures a graph of 1,000 no-ops from the enqueue to the last result. It has ten layers, and each job
/// depends on three jobs of the previous layer.
func measureGraphOfAThousand() async throws -> Row {
    let scratch = try Scratch()
    let engine = try await Engine(at: scratch.file("graph.db"), slots: 256)
    let medians = try await medians(ofRounds: 7) {
        let jobs = (0..<1000).map { index in
            let layer = index / 100
            return engine.job(after: layer == 0 ? [] : (0..<3).map { (layer - 1) * 100 + (index + $0 * 7) % 100 })
        }
        let end = FinalCount(jobs.count, in: engine.store)
        let start = ContinuousClock.now
        _ = try await engine.store.enqueue([NewGraph(isGraph: true, jobs: jobs)], now: SystemWallClock().now)
        await end.wait()
        return [start.milliseconds]
    }
    try await engine.stop()
    return Row("graph of 1,000", medians[0], "ms", .atMost(100))
}
