import CBaseline
import Foundation
import Jobs
import Logging
import Runner
import SQLiteStore
import Systemd

private let jobs = 20_000
private let batch = 256

/// Measures the life of a job: enqueue, claim, run a no-op, store the result, with `synchronous=FULL`.
///
/// It runs 20,000 jobs, 256 at a time, and compares them with a C loop that uses a minimal schema and 256 jobs
/// in each transaction. The second row compares the same run with a log at the default level, written to a
/// file, to the run without a log.
func measureLifeOfAJob() async throws -> [Row] {
    let medians = try await medians(ofRounds: 5) {
        let scratch = try Scratch()
        let file = open(scratch.file("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(file) }
        let (silent, logged) = (try await lifeRate(logger: Engine.silent), try await lifeRate(logger: fileLogger(file)))
        let baseline = halyard_baseline_run(scratch.file("c.db"), Int32(jobs), Int32(batch))
        guard baseline > 0 else { throw BenchError("the C loop failed") }
        return [silent, logged, baseline]
    }
    return [
        Row("life of a job, 256 at once", medians[0], to: medians[2], "jobs/s", ratio: .atLeast(0.5)),
        Row("life of a job with a log", medians[1], to: medians[0], "jobs/s", ratio: .atLeast(0.9)),
    ]
}

/// - Returns: The number of jobs per second, in a new database.
private func lifeRate(logger: Logger) async throws -> Double {
    let scratch = try Scratch()
    let engine = try await Engine(at: scratch.file("ours.db"), slots: batch, logger: logger)
    let end = FinalCount(jobs, in: engine.store)
    let clock = ContinuousClock()
    let start = clock.now
    for first in stride(from: 0, to: jobs, by: batch) {
        let graphs = (first..<min(first + batch, jobs)).map { _ in NewGraph(isGraph: false, jobs: [engine.job()]) }
        _ = try await engine.store.enqueue(graphs, now: SystemWallClock().now)
    }
    await end.wait()
    let rate = Double(jobs) / ((clock.now - start) / .seconds(1))
    try await engine.stop()
    return rate
}

/// Uses one `write` for each line, like a log on standard error.
private func fileLogger(_ descriptor: Int32) -> Logger {
    Logger(label: "bench") { _ in
        ServiceLogHandler(threshold: LogThreshold(.info), style: .levelPrefix) { line in
            var line = line
            line.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
        }
    }
}
