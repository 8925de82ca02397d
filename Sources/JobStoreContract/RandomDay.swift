import Jobs

/// A small random generator with a seed, so that a failure can be reproduced.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Enqueues graphs, claims, saves checkpoints, ends, cancels and restarts at random. Expects that each claim returns the
/// job's last checkpoint, and that afterwards every job has one outcome and one result and no checkpoint, and the counts
/// agree with the jobs (P2, P3).
func randomDay(_ bench: Workbench, seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var running: [Lease] = []
    var ended: [Lease] = []
    var jobs: [JobID] = []
    var checkpoints: [JobID: JSONText] = [:]
    for round in 0..<300 {
        bench.advance(.milliseconds(Int.random(in: 0...2000, using: &random)))
        switch Int.random(in: 0..<24, using: &random) {
        case 0..<7:
            let graph = randomGraph(bench, known: jobs, using: &random)
            jobs += try await bench.enqueue(graph).jobs
        case 7..<11:
            let claimed = try await bench.claim(Int.random(in: 1...5, using: &random))
            for job in claimed { try expectCheckpoint(of: job, checkpoints, seed: seed) }
            running += claimed.map(\.lease)
        case 11..<17:
            guard let lease = running.randomElement(using: &random) else { continue }
            running.removeAll { $0 == lease }
            try await bench.end(lease, randomEnding(using: &random))
            ended.append(lease)
        case 17:
            // An administrator may set the wall clock to any time.
            bench.clock.set(by: .seconds(Int.random(in: -7200...7200, using: &random)))
        case 18:
            guard let job = jobs.randomElement(using: &random) else { continue }
            try await bench.cancel([job])
        case 19:
            try await bench.restartAndRescue(maxRescues: 2)
            ended += running
            running = []
        default:
            var saves: [CheckpointSave] = []
            var expected: [SaveResult] = []
            for lease in [running.randomElement(using: &random), ended.randomElement(using: &random)].compactMap(\.self)
            {
                let value = JSONText(trusted: Array("{\"round\":\(round)}".utf8))
                let isRunning = running.contains(lease)
                saves.append(CheckpointSave(lease: lease, value: value))
                expected.append(isRunning ? .saved : .leaseLost)
                if isRunning { checkpoints[lease.job] = value }
            }
            let results = try await bench.store.save(saves, by: bench.holder, now: bench.now)
            try expectEqual(results, expected, "seed \(seed):")
        }
    }
    for lease in running { try await bench.end(lease, .failed(.broken)) }
    while true {
        let claimed = try await bench.claim()
        for job in claimed {
            try expectCheckpoint(of: job, checkpoints, seed: seed)
            try await bench.end(job.lease, .succeeded(JSONText("1")))
        }
        if claimed.isEmpty {
            guard let next = try await bench.store.nextDueAt() else { break }
            bench.advance(max(next - bench.now, .milliseconds(1)))
        }
    }
    try await expectConsistent(bench, jobs, seed: seed)
    try await bench.restart()
    try await expectConsistent(bench, jobs, seed: seed)
}

private func expectCheckpoint(of job: ClaimedJob, _ checkpoints: [JobID: JSONText], seed: UInt64) throws {
    try expectEqual(
        job.checkpoint, checkpoints[job.lease.job], "the checkpoint of job \(job.lease.job), seed \(seed):")
}

private func randomGraph(_ bench: Workbench, known: [JobID], using random: inout SplitMix64) -> NewGraph {
    let count = Int.random(in: 1...6, using: &random)
    let jobs = (0..<count).map { index in
        var dependencies: [NewDependency] = []
        for dependency in 0..<index where Int.random(in: 0..<3, using: &random) == 0 {
            let condition = Bool.random(using: &random) ? DependencyCondition.succeeded : .finished
            dependencies.append(NewDependency(on: .new(dependency), condition: condition))
        }
        if Int.random(in: 0..<5, using: &random) == 0, let job = known.randomElement(using: &random) {
            dependencies.append(NewDependency(on: .existing(job)))
        }
        let isMoment = Bool.random(using: &random)
        let wait: Duration? = Int.random(in: 0..<6, using: &random) == 0 ? .seconds(3) : nil
        return bench.job(
            after: dependencies, priority: Priority.allCases.randomElement(using: &random)!,
            dueAt: isMoment ? wait.map { bench.now + $0 } : nil, wait: isMoment ? nil : wait)
    }
    return NewGraph(isGraph: Bool.random(using: &random), jobs: jobs)
}

private func randomEnding(using random: inout SplitMix64) -> AttemptEnd.Ending {
    switch Int.random(in: 0..<9, using: &random) {
    case 0: .failed(.broken)
    case 1: .retry(.broken, after: .seconds(1))
    case 2: .retry(.broken, timedOut: true, after: .zero)
    case 3: .cancelled
    case 4: .interrupted
    case 5:
        .crashed(
            .worker(beside: Int.random(in: 0...1, using: &random), isExplained: Bool.random(using: &random)),
            maxCrashes: 1)
    default: .succeeded(JSONText("true"))
    }
}

private func expectConsistent(_ bench: Workbench, _ jobs: [JobID], seed: UInt64) async throws {
    var counts = StateCounts()
    var graphs: [GraphID: StateCounts] = [:]
    for job in jobs {
        let record = try await bench.record(job)
        let outcome = try unwrap(record.state.outcome, "an outcome of job \(job), seed \(seed); it is \(record.state)")
        try expectEqual(try await bench.result(job).outcome, outcome, "job \(job), seed \(seed):")
        try expectEqual(record.finishedAt, try await bench.result(job).finishedAt, "job \(job), seed \(seed):")
        try expectEqual(try await bench.store.checkpoint(of: job), nil, "job \(job), seed \(seed):")
        let attempts = try await bench.store.attempts(of: job)
        try expectEqual(attempts.map(\.lease.attempt), Array(1..<record.attempt + 1), "job \(job), seed \(seed):")
        for edge in try await bench.dependencies(of: job) where outcome == .succeeded {
            let outcome = try unwrap(try await bench.state(edge.job).outcome)
            try expect(
                edge.condition.isMet(by: outcome), "job \(job) ran though \(edge.job) \(outcome), seed \(seed)")
        }
        counts[record.state] += 1
        if let graph = record.graph { graphs[graph, default: StateCounts()][record.state] += 1 }
    }
    let queues = try await bench.store.queues()
    try expectEqual(queues.map(\.counts).reduce(StateCounts(), +), counts, "the queues' counts, seed \(seed):")
    for (graph, counts) in graphs {
        let record = try unwrap(try await bench.store.graph(graph))
        try expectEqual(record.counts, counts, "the counts of graph \(graph), seed \(seed):")
        try expect(record.finishedAt != nil, "graph \(graph) is finished, seed \(seed)")
    }
}
