import Jobs

/// Runs innocent jobs together with jobs that crash the process some time after their start, and restarts until no job
/// is left. Expects that no innocent job fails, that each guilty one fails with `crashed`, and that the number of
/// starts is bounded (P6, P14).
func randomCrashes(_ bench: Workbench, seed: UInt64) async throws {
    let maxRescues = 2
    var random = SplitMix64(seed: seed)
    try await bench.change(QueueChange(name: "default", limit: 200))
    /// How long each job runs. A guilty job then crashes the process.
    var times: [JobID: Duration] = [:]
    var guilty: Set<JobID> = []
    for _ in 0..<Int.random(in: 1...40, using: &random) {
        let job = try await bench.enqueue(bench.job(priority: Priority.allCases.randomElement(using: &random)!))
        times[job] = [.zero, .seconds(1), .seconds(60), .seconds(3600)].randomElement(using: &random)!
    }
    for _ in 0..<Int.random(in: 0...3, using: &random) {
        guard let job = times.keys.sorted().randomElement(using: &random) else { break }
        guilty.insert(job)
        times[job] = [.zero, .milliseconds(100), .seconds(20), .seconds(300)].randomElement(using: &random)!
    }
    var starts = 1
    while try await runUntilACrash(bench, times, guilty) {
        try await bench.restart()
        bench.advance(.seconds(1))
        let report = try await bench.rescue(maxRescues: maxRescues, after: .crash)
        try expect(Set(report.failed).isSubset(of: guilty), "an innocent job failed, seed \(seed)")
        starts += 1
        try expect(starts < 1000, "no end, seed \(seed)")
    }
    for job in times.keys {
        try expectEqual(
            try await bench.state(job), guilty.contains(job) ? .failed : .succeeded, "job \(job), seed \(seed):")
        if guilty.contains(job) {
            try expectEqual(try await bench.failure(job).code, JobFailure.Code.crashed, "job \(job), seed \(seed):")
        }
    }
    let bound = guilty.reduce(1 + guilty.count * max(0, guilty.count - 1)) { sum, job in
        var beside = 4
        var reach = Duration.seconds(30)
        while reach < times[job]! {
            reach *= 2
            beside += 1
        }
        return sum + beside + maxRescues + 1
    }
    try expect(starts <= bound, "\(starts) starts for \(guilty.count) guilty jobs, at most \(bound), seed \(seed)")
}

/// Runs jobs until one of them crashes the process or none is left.
///
/// - Returns: Whether a guilty job crashed the process.
private func runUntilACrash(_ bench: Workbench, _ times: [JobID: Duration], _ guilty: Set<JobID>) async throws -> Bool {
    var running: [Lease: Timestamp] = [:]
    while true {
        let answer = try await bench.exchange(slots: 256)
        for job in answer.claimed { running[job.lease] = bench.now + times[job.lease.job]! }
        let first = running.min { ($0.value, $0.key.job) < ($1.value, $1.key.job) }
        guard let next = [first?.value, answer.nextDueAt].compactMap(\.self).min() else { return false }
        bench.advance(next - bench.now)
        guard let first, first.value <= next else { continue }
        if guilty.contains(first.key.job) { return true }
        try await bench.end(first.key, .succeeded(JSONText("1")))
        running[first.key] = nil
    }
}
