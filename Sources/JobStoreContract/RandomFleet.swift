import Jobs
import Synchronization

extension Check {
    /// Holders that enqueue, claim, save checkpoints, end, cancel, lapse and rescue at once, at random: no job is lost, none
    /// runs twice at a time, none has two results, and each attempt begins with the last checkpoint, whoever saved it.
    static let aFleetAtRandom = Check("aFleetLosesNothingAndRunsNothingTwice", each: Array(1...3)) { bench, seed in
        try await bench.change(
            QueueChange(name: QueueSettings.defaultName, limit: 40, limitPerDaemon: .atMost(Fleet.limitPerDaemon)))
        var benches = [bench]
        for number in 2...6 { benches.append(try await Workbench(beside: bench, as: .other(number))) }
        let fleet = Fleet()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, bench) in benches.enumerated() {
                group.addTask { try await fleet.live(as: bench, seed: UInt64(seed * 100 + index)) }
            }
            try await group.waitForAll()
        }
        try await fleet.finish(bench)
        let counts = try await bench.store.counts()
        try expectEqual(counts[.running] + counts[.ready] + counts[.scheduled] + counts[.blocked], 0, "seed \(seed):")
        let accepted = fleet.accepted
        for job in accepted {
            let outcome = try await bench.state(job).outcome
            try expect(outcome != nil, "seed \(seed): job \(job) is final")
            let results = fleet.recorded(of: job)
            try expect(results <= 1, "seed \(seed): job \(job) has \(results) recorded successes")
            try expectEqual(results == 1, outcome == .succeeded, "seed \(seed): job \(job) succeeded if recorded:")
            try expectEqual(try await bench.store.checkpoint(of: job), nil, "seed \(seed): job \(job):")
        }
        try expect(accepted.count > 100, "seed \(seed): the holders enqueued jobs")
        for other in benches.dropFirst() { try await other.end() }
    }
}

/// The facts that the holders of a random fleet know about its jobs.
private final class Fleet: Sendable {
    static let limitPerDaemon = 9

    private struct State {
        var accepted: [JobID] = []
        var recorded: [JobID: Int] = [:]
        var checkpoints: [JobID: JSONText] = [:]
    }

    private let state = Mutex(State())

    var accepted: [JobID] { state.withLock(\.accepted) }
    func recorded(of job: JobID) -> Int { state.withLock { $0.recorded[job] ?? 0 } }

    /// The life of one holder.
    func live(as bench: Workbench, seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var mine: [Lease] = []
        for round in 0..<120 {
            switch Int.random(in: 0..<14, using: &random) {
            case 0, 1, 2: try await enqueue(bench, &random)
            case 3, 4, 5:
                mine += try await claim(5, bench)
                try expect(mine.count <= Self.limitPerDaemon, "\(mine.count) jobs run on one daemon")
            case 6, 7, 8:
                let count = min(mine.count, Int.random(in: 1...4, using: &random))
                let ended = Array(mine.prefix(count))
                mine.removeFirst(count)
                try await end(ended, bench, &random)
            case 12, 13:
                let value = JSONText(trusted: Array("[\(bench.holder.rawValue), \(round)]".utf8))
                let saves = mine.shuffled(using: &random).prefix(3).map { CheckpointSave(lease: $0, value: value) }
                let results = try await bench.store.save(saves, by: bench.holder, now: bench.now)
                try expect(results.allSatisfy { $0 == .saved }, "the leases of a life that lasts stand: \(results)")
                note(saves)
            case 9:
                if let job = accepted.randomElement(using: &random) { try await bench.cancel([job]) }
            case 10 where Int.random(in: 0..<4, using: &random) == 0:
                // It says goodbye, or its process is replaced; its ends come too late or not at all.
                let late = mine
                let life = bench.holder
                mine = []
                if Bool.random(using: &random) { try await bench.store.leave(life, now: bench.now) }
                try await bench.begin()
                try await bench.rescue(maxRescues: 1000, after: .unrelated(reason: "It lapsed"))
                let saves = late.map { CheckpointSave(lease: $0, value: JSONText("\"late\"")) }
                let results = try await bench.store.save(saves, by: life, now: bench.now)
                try expect(results.allSatisfy { $0 == .leaseLost }, "a rescued job keeps its checkpoint: \(results)")
                for lease in late {
                    let end = AttemptEnd(lease: lease, ending: .succeeded(JSONText("0")))
                    let answer = try await bench.store.exchange([end], claim: nil, by: life, now: bench.now)
                    try expectEqual(answer.finished, [.leaseLost], "a rescued job keeps its state:")
                }
            default: try await bench.rescue(maxRescues: 1000)
            }
        }
        try await end(mine, bench, &random)
    }

    /// Claims jobs, each of which must have the last checkpoint that any holder saved.
    private func claim(_ slots: Int, _ bench: Workbench) async throws -> [Lease] {
        let claimed = try await bench.exchange(slots: slots).claimed
        let known = state.withLock(\.checkpoints)
        for job in claimed { try expectEqual(job.checkpoint, known[job.lease.job], "job \(job.lease.job):") }
        return claimed.map(\.lease)
    }

    /// Notes saved checkpoints, before their attempts end, so that whoever claims the jobs next knows them.
    private func note(_ saves: [CheckpointSave]) {
        state.withLock { state in
            for save in saves { state.checkpoints[save.lease.job] = save.value }
        }
    }

    private func enqueue(_ bench: Workbench, _ random: inout SplitMix64) async throws {
        let count = Int.random(in: 1...4, using: &random)
        let jobs = (0..<count).map { index in
            bench.job(after: index > 0 && Bool.random(using: &random) ? [.new(index - 1, .finished)] : [])
        }
        let receipt = try await bench.enqueue(graph: jobs)
        state.withLock { $0.accepted += receipt.jobs }
    }

    private func end(_ leases: [Lease], _ bench: Workbench, _ random: inout SplitMix64) async throws {
        if leases.isEmpty { return }
        let ends = leases.map { lease in
            let ending: AttemptEnd.Ending =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: .retry(.broken, after: .zero)
                case 1: .interrupted
                case 2: .failed(.broken)
                default: .succeeded(JSONText("1"))
                }
            return AttemptEnd(lease: lease, ending: ending)
        }
        record(ends, try await bench.exchange(ends).finished)
    }

    private func record(_ ends: [AttemptEnd], _ results: [FinishResult]) {
        state.withLock { state in
            for (end, result) in zip(ends, results) where result == .recorded(.succeeded) {
                state.recorded[end.lease.job, default: 0] += 1
            }
        }
    }

    /// Runs what is left on one holder.
    func finish(_ bench: Workbench) async throws {
        for _ in 0..<10_000 {
            let claimed = try await claim(40, bench)
            if claimed.isEmpty, try await bench.store.counts()[.running] == 0 { return }
            let ends = claimed.map { AttemptEnd(lease: $0, ending: .succeeded(JSONText("1"))) }
            record(ends, try await bench.exchange(ends).finished)
        }
        throw Violation(description: "the fleet does not come to rest")
    }
}
