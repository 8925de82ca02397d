import Jobs

/// Enqueues, claims and ends jobs of random kinds, queues and priorities with random room. Expects every claim to take
/// the same jobs as a model that looks at all jobs each time.
func randomRooms(_ bench: Workbench, seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var model = RoomModel()
    for index in 0..<Int.random(in: 1...4, using: &random) {
        let settings = QueueSettings(
            name: "lane\(index)", limit: Int.random(in: 1...20, using: &random),
            weight: Int.random(in: 1...4, using: &random))
        try await bench.change(QueueChange(name: settings.name, limit: settings.limit, weight: settings.weight))
        model.queues.append(settings)
    }
    var definitions: [String: DefinitionID] = [:]
    for kind in kinds { definitions[kind] = try await bench.define(kind: kind) }
    for _ in 0..<60 {
        bench.advance(.milliseconds(Int.random(in: 0...3, using: &random)))
        var graphs: [NewGraph] = []
        var added: [RoomModel.Job] = []
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let job = randomJob(bench, model, &random)
            let wait: Duration? =
                Int.random(in: 0..<4, using: &random) == 0 ? .milliseconds(Int.random(in: 1...9, using: &random)) : nil
            let isMoment = Bool.random(using: &random)
            let new = bench.job(
                queue: model.queues[job.queue].name, priority: job.priority,
                dueAt: isMoment ? wait.map { bench.now + $0 } : nil, wait: isMoment ? nil : wait,
                definition: definitions[job.kind]!)
            graphs.append(NewGraph(isGraph: false, jobs: [new]))
            added.append(job)
            added[added.count - 1].readySince = bench.now + (wait ?? .zero)
        }
        for (job, outcome) in zip(added, try await bench.store.enqueue(graphs, now: bench.now)) {
            let id = try bench.receipt(of: outcome).jobs[0]
            model.jobs[id] = job
            model.jobs[id]?.id = id
        }
        var request = ClaimRequest(slots: Int.random(in: 0...12, using: &random), ageing: .milliseconds(20))
        for kind in kinds where Bool.random(using: &random) {
            request.room[kind] = Int.random(in: 0...4, using: &random)
        }
        if Bool.random(using: &random) { request.suspects = Int.random(in: 0...2, using: &random) }
        for kind in kinds where Bool.random(using: &random) {
            request.suspectRoom[kind] = Int.random(in: 0...2, using: &random)
        }
        let claimed = try await bench.claim(request)
        let expected = model.claim(request, now: bench.now)
        try expectEqual(
            Dictionary(uniqueKeysWithValues: claimed.map { ($0.lease.job, $0.isSuspect) }),
            Dictionary(uniqueKeysWithValues: expected.map { ($0.id, $0.isSuspect) }), "seed \(seed):")
        for queue in model.queues.indices {
            let inQueue = expected.filter { $0.queue == queue }.map(\.id)
            try expectEqual(claimed.map(\.lease.job).filter(inQueue.contains), inQueue, "the order, seed \(seed):")
        }
        for job in claimed { model.jobs[job.lease.job]?.lease = job.lease }
        var ends: [AttemptEnd] = []
        for lease in model.jobs.values.compactMap(\.lease).sorted(by: { $0.job < $1.job })
        where Bool.random(using: &random) {
            ends.append(model.end(lease, &random, now: bench.now))
        }
        _ = try await bench.exchange(ends, claim: nil)
    }
    // The next check on this database begins without open jobs.
    try await bench.cancel(model.jobs.keys.sorted())
    for lease in model.jobs.values.compactMap(\.lease) { try await bench.end(lease, .cancelled) }
}

private let kinds = (0..<4).map { "kind\($0)" }

private func randomJob(_ bench: Workbench, _ model: RoomModel, _ random: inout SplitMix64) -> RoomModel.Job {
    RoomModel.Job(
        kind: kinds.randomElement(using: &random)!, queue: Int.random(in: model.queues.indices, using: &random),
        priority: Priority.allCases.randomElement(using: &random)!, readySince: bench.now)
}

/// The rules of a claim, applied to all jobs.
private struct RoomModel {
    struct Job {
        var id = JobID(0)
        var kind: String
        var queue: Int
        var priority: Priority
        var readySince: Timestamp
        var isSuspect = false
        var lease: Lease?
    }

    var jobs: [JobID: Job] = [:]
    var queues: [QueueSettings] = []
    private var shares = FairShare()

    mutating func claim(_ request: ClaimRequest, now: Timestamp) -> [Job] {
        let ready = queues.indices.map { startOrder(of: $0, now: now, ageing: request.ageing) }
        let demands = queues.indices.compactMap { queue -> FairShare.Demand? in
            let running = jobs.values.count { $0.queue == queue && $0.lease != nil }
            let wanted = min(ready[queue].count, queues[queue].limit - running)
            return wanted > 0 ? FairShare.Demand(key: queue, weight: queues[queue].weight, wanted: wanted) : nil
        }
        if demands.isEmpty || request.slots == 0 { return [] }
        // The jobs whose turn it is, if all of them have room.
        var room = request
        var shares = self.shares
        let given = shares.divide(request.slots, among: demands)
        let inTurn = zip(demands, given).flatMap { demand, slots in ready[demand.key].prefix(slots) }
        if inTurn.allSatisfy({ room.take($0) }) {
            self.shares = shares
            return inTurn
        }
        // Otherwise slot by slot, among the queues that have a job with room.
        room = request
        var claimed: [Job] = []
        var left = ready
        while claimed.count < request.slots {
            for queue in left.indices { left[queue].removeAll { !room.admits($0) } }
            let winner = self.shares.giveSlot(among: demands) { index in
                let queue = demands[index].key
                return !left[queue].isEmpty && claimed.count { $0.queue == queue } < demands[index].wanted
            }
            guard let winner else { break }
            let job = left[demands[winner].key].removeFirst()
            _ = room.take(job)
            claimed.append(job)
        }
        return claimed
    }

    mutating func end(_ lease: Lease, _ random: inout SplitMix64, now: Timestamp) -> AttemptEnd {
        jobs[lease.job]?.lease = nil
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            jobs[lease.job]?.isSuspect = true
            return AttemptEnd(lease: lease, ending: .crashed(.worker(beside: 1), maxCrashes: 0))
        case 1:
            return AttemptEnd(lease: lease, ending: .interrupted)
        case 2:
            let wait = Duration.milliseconds(Int.random(in: 0...2, using: &random))
            jobs[lease.job]?.isSuspect = false
            jobs[lease.job]?.readySince = now + wait
            return AttemptEnd(lease: lease, ending: .retry(.broken, after: wait))
        default:
            jobs[lease.job] = nil
            return AttemptEnd(lease: lease, ending: .succeeded(JSONText("1")))
        }
    }

    private func startOrder(of queue: Int, now: Timestamp, ageing: Duration) -> [Job] {
        jobs.values.filter { $0.queue == queue && $0.lease == nil && $0.readySince <= now }.sorted { a, b in
            let (first, second) = (
                a.priority.aged(readySince: a.readySince, now: now, step: ageing),
                b.priority.aged(readySince: b.readySince, now: now, step: ageing)
            )
            return first == second ? (a.readySince, a.id) < (b.readySince, b.id) : first > second
        }
    }
}

extension ClaimRequest {
    fileprivate func admits(_ job: RoomModel.Job) -> Bool {
        job.isSuspect ? suspects ?? 1 > 0 && suspectRoom[job.kind] ?? 1 > 0 : room[job.kind] ?? 1 > 0
    }

    fileprivate mutating func take(_ job: RoomModel.Job) -> Bool {
        guard admits(job) else { return false }
        if job.isSuspect {
            suspects? -= 1
            suspectRoom[job.kind]? -= 1
        } else {
            room[job.kind]? -= 1
        }
        return true
    }
}
