import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// The answer to a claim.
    struct Claim {
        var jobs: [ClaimedJob] = []
        /// Whether another transaction has locked the job whose trial comes next. Other jobs wait for it.
        var isTrialLocked = false
    }

    /// Claims up to `request.slots` jobs: finds ready jobs, selects among them, and starts those.
    ///
    /// - Parameters:
    ///   - shares: The answer to ``putOffShares()``.
    ///   - home: The identity of the holder's daemon.
    func claim(
        _ request: ClaimRequest, _ holder: HolderID, shares: Answer, home: String, now: Timestamp
    ) throws(PostgresError) -> Claim {
        var room = ClaimRoom(request)
        if request.slots <= 0 { return Claim() }
        try knowRunning(holder)
        var claimable: [Int64: Int] = [:]
        let shares = self.shares(shares, holder)
        // In one order, since taking slots locks the queue.
        for id in known.queues.keys.sorted() {
            guard let queue = known.queues[id], !queue.isRemoved, queue.pausedAt == nil else { continue }
            if let queues = request.queues, !queues.contains(queue.settings.name) { continue }
            let slots = try self.claimable(id, shares[id], slots: request.slots, holder)
            if slots > 0 { claimable[id] = slots }
        }
        if !memory.trials.isEmpty {
            let tried = try startTrials(request, &room, &claimable, holder, home: home, now: now)
            let isHeld = memory.trials.holdsOthers(now: time.steady.moment) != nil
            if isHeld || tried.isTrialLocked || tried.jobs.count >= request.slots { return tried }
        }
        var lanes: [(number: Int64, want: Int, hasRoom: Bool)] = []
        for (number, lane) in known.lanes where lane.isOpen(to: home) {
            guard let slots = claimable[lane.queue], request.kinds?.contains(lane.kind) ?? true else { continue }
            lanes.append((number, min(slots, request.slots), room.admits(lane)))
        }
        lanes.sort { $0.number < $1.number }
        let found = try candidates(lanes)
        let selected = select(found, claimable, request, room)
        return Claim(jobs: try start(selected, holder, now: now))
    }

    // MARK: Selecting

    /// The candidates of one queue, by priority.
    private struct Waiting {
        /// For each priority, the candidates in the order in which they became ready, and the next one.
        var levels: [(priority: Priority, jobs: ArraySlice<Candidate>)]

        init(_ candidates: [Candidate]) {
            levels = Dictionary(grouping: candidates, by: \.lane.priority).map { priority, jobs in
                (priority, jobs.sorted { $0.order < $1.order }[...])
            }
        }

        /// The level of the job that starts next, after those without room were removed. If two jobs have equal priority,
        /// the one that has been ready longer goes first.
        mutating func next(_ room: ClaimRoom, now: Timestamp, ageing: Duration) -> Int? {
            var best: (level: Int, priority: Priority, job: Candidate)?
            for index in levels.indices {
                while let first = levels[index].jobs.first, !room.admits(first.lane) {
                    levels[index].jobs.removeFirst()
                }
                guard let head = levels[index].jobs.first else { continue }
                let priority = head.lane.priority.aged(readySince: head.readySince, now: now, step: ageing)
                if let best, best.priority > priority || (best.priority == priority && best.job.order < head.order) {
                    continue
                }
                best = (index, priority, head)
            }
            return best?.level
        }

        mutating func takeNext(_ room: ClaimRoom, now: Timestamp, ageing: Duration) -> Candidate? {
            next(room, now: now, ageing: ageing).flatMap { levels[$0].jobs.popFirst() }
        }
    }

    /// Selects the jobs that start: by queue as the weights say, and within a queue by priority, as raised by ageing, and
    /// then by the time since which they have been ready.
    private func select(
        _ candidates: [Candidate], _ claimable: [Int64: Int], _ request: ClaimRequest, _ room: ClaimRoom
    ) -> [Candidate] {
        let now = time.steady.moment
        let byQueue = Dictionary(grouping: candidates, by: \.lane.queue)
        let demands = byQueue.keys.sorted().map { queue in
            FairShare.Demand(
                key: Int(queue), weight: known.queues[queue]?.settings.weight ?? 1,
                wanted: min(byQueue[queue]!.count, claimable[queue] ?? 0))
        }
        let waiting = demands.map { Waiting(byQueue[Int64($0.key)]!) }
        if let selected = selectAllInTurn(demands, waiting, request, room, now: now) { return selected }
        // Slot by slot, among the queues that have a job with room.
        var left = waiting
        var room = room
        var taken = demands.map { _ in 0 }
        var selected: [Candidate] = []
        while selected.count < request.slots {
            let hasNext = demands.indices.map { index in
                taken[index] < demands[index].wanted
                    && left[index].next(room, now: now, ageing: request.ageing) != nil
            }
            guard let winner = memory.shares.giveSlot(among: demands, where: { hasNext[$0] }),
                let job = left[winner].takeNext(room, now: now, ageing: request.ageing)
            else { break }
            taken[winner] += 1
            room.take(job.lane)
            selected.append(job)
        }
        return selected
    }

    /// Selects the jobs whose turn it is, as in a claim without limits. Nil if one of them has no room.
    private func selectAllInTurn(
        _ demands: [FairShare.Demand], _ waiting: [Waiting], _ request: ClaimRequest, _ limits: ClaimRoom,
        now: Timestamp
    ) -> [Candidate]? {
        var shares = memory.shares
        var room = limits
        var selected: [Candidate] = []
        let unlimited = ClaimRoom(ClaimRequest(slots: request.slots))
        for (index, slots) in shares.divide(request.slots, among: demands).enumerated() where slots > 0 {
            var queue = waiting[index]
            for _ in 0..<slots {
                guard let job = queue.takeNext(unlimited, now: now, ageing: request.ageing) else { break }
                guard room.admits(job.lane) else { return nil }
                room.take(job.lane)
                selected.append(job)
            }
        }
        memory.shares = shares
        return selected
    }

    // MARK: Starting

    /// Starts the next jobs that are on trial (``CrashTrials``), and no others.
    private func startTrials(
        _ request: ClaimRequest, _ room: inout ClaimRoom, _ claimable: inout [Int64: Int], _ holder: HolderID,
        home: String, now: Timestamp
    ) throws(PostgresError) -> Claim {
        var claim = Claim()
        let moment = time.steady.moment
        // A job on trial is a suspect.
        while claim.jobs.count < request.slots, room.admitsSuspects, let next = memory.trials.next(now: moment) {
            let free = try run(Statements.lockTrial, .job(next)).first
            let row = if let free { free } else { try run(Statements.trial, .job(next)).first }
            // The job is no longer ready, its queue is paused or full, or its worker or this daemon cannot run it. Other
            // jobs must not wait for it.
            guard let row, case let lane = try lane(row.integer(0)), claimable[lane.queue] ?? 0 > 0,
                lane.isOpen(to: home), request.kinds?.contains(lane.kind) ?? true, room.admits(lane)
            else {
                memory.trials.skip()
                continue
            }
            if free == nil {
                claim.isTrialLocked = memory.trials.postpone(now: moment)
                if claim.isTrialLocked { break } else { continue }
            }
            memory.trials.begin(now: moment)
            room.take(lane)
            claimable[lane.queue, default: 0] -= 1
            claim.jobs += try start(
                [Candidate(job: next, lane: lane, readySince: row.timestamp(1))], holder, now: now)
        }
        return claim
    }

    private func start(
        _ jobs: [Candidate], _ holder: HolderID, now: Timestamp
    ) throws(PostgresError) -> [ClaimedJob] {
        if jobs.isEmpty { return [] }
        let (low, high) = Argument.bounds(jobs.map(\.job))
        let rows = try run(
            try start(of: jobs)[half(.running)], .jobs(jobs.map(\.job)), .integer(holder.rawValue), .time(now), low,
            high)
        var started: [JobID: ClaimedJob] = [:]
        try rows.forEach { (row) throws(PostgresError) in
            let job = row.job(0)
            if row.isNull(2) {
                throw PostgresError(
                    .refused, sqlState: SQLState.serialization, message: "a range of history was just added")
            }
            started[job] = ClaimedJob(
                lease: Lease(job: job, attempt: row.int(1)), definition: DefinitionID(row.integer(2)),
                graph: row.graph(3), input: row.json(4), hasDependencies: row.integer(5) > 0, tries: row.int(6),
                checkpoint: row.json(7))
        }
        var claimed: [ClaimedJob] = []
        for job in jobs {
            // A job that another transaction has moved meanwhile was not started.
            guard var claim = started[job.job] else { continue }
            claim.isSuspect = job.lane.laneClass == .suspect
            addRunning(1, holder: holder, queue: job.lane.queue)
            count(queue: job.lane.queue, graph: claim.graph, from: .ready, to: .running, now: now)
            note(job.job, graph: claim.graph, state: .running, attempt: claim.lease.attempt)
            claimed.append(claim)
        }
        return claimed
    }

    /// The statements that start these jobs. The jobs of most claims are in one range of history, and the statements
    /// read its partition directly: finding the partition of each job would cost as much as finding the job.
    private func start(of jobs: [Candidate]) throws(PostgresError) -> [Statement] {
        guard let lowest = jobs.lazy.map(\.job.rawValue).min(), let range = try range(containing: lowest),
            jobs.allSatisfy({ range.contains($0.job.rawValue) })
        else { return Statements.start }
        if let known = starts[range.lowerBound] { return known }
        let new = Statements.start(from: "job_from_\(range.lowerBound)")
        starts[range.lowerBound] = new
        return new
    }

    private func range(containing job: Int64) throws(PostgresError) -> Range<Int64>? {
        if let range = memory.ranges.last(where: { $0.contains(job) }) { return range }
        memory.ranges = try run(Statements.ranges).map { $0.integer(0)..<$0.integer(1) }
        return memory.ranges.last { $0.contains(job) }
    }

    private enum Statements {
        static let ranges = Statement("SELECT first, below FROM halyard.range WHERE NOT is_dropped ORDER BY first")
        static let trial = Statement("SELECT lane, steady_ms FROM halyard.ready WHERE job = $1::bigint")
        static let lockTrial = Statement(
            "SELECT lane, steady_ms FROM halyard.ready WHERE job = $1::bigint FOR UPDATE SKIP LOCKED")
        static let start = start(from: "job")

        /// Naming a partition is safe: a partition with an open job is not dropped.
        static func start(from job: String) -> [Statement] {
            HotTable.running.halves { name, half in start(from: job, into: name, half) }
        }

        private static func start(from job: String, into name: String, _ half: Int) -> Statement {
            Statement(
                """
                WITH taken AS (
                    DELETE FROM halyard.ready
                    WHERE job = ANY ($1::bigint[])
                    RETURNING *
                ), started AS (
                    INSERT INTO halyard.\(name) (job, lane, graph, attempt, tries, rescues, due_ms, steady_ms,
                                                  started_ms, daemon, half)
                    SELECT job, lane, graph, attempt + 1, tries, rescues, due_ms, steady_ms, $3::bigint, $2::bigint,
                           \(half)
                    FROM   taken
                )
                SELECT     taken.job, taken.attempt + 1, job.definition, taken.graph, job.input, job.dependencies,
                           taken.tries, checkpoint.value
                FROM       taken
                -- The limit keeps the join from beginning here, with all jobs between the bounds.
                LEFT JOIN  LATERAL (SELECT definition, input, dependencies
                                    FROM   halyard.\(job)
                                    WHERE  id = taken.job
                                    AND    id BETWEEN $4::bigint AND $5::bigint
                                    LIMIT  1) AS job ON true
                LEFT JOIN  halyard.checkpoint ON checkpoint.job = taken.job
                """)
        }
    }
}
