import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Claims up to `request.slots` jobs: selects ready jobs, then marks each as running. Everything happens in the
    /// caller's transaction.
    func claim(_ request: ClaimRequest, by holder: HolderID, now: Timestamp) throws(SQLiteError) -> [ClaimedJob] {
        var room = ClaimRoom(request, memory)
        if !trials.isEmpty {
            let tried = try startTrials(request.slots, &room, by: holder, now: now)
            if trials.holdsOthers(now: steady.moment) != nil || tried.count >= request.slots { return tried }
        }
        var demands: [FairShare.Demand] = []
        for index in memory.liveQueues {
            let queue = memory.queues[index]
            if let wanted = request.queues, !wanted.contains(queue.settings.name) { continue }
            let claimable = queue.claimable
            if claimable > 0 {
                demands.append(FairShare.Demand(key: index, weight: queue.settings.weight, wanted: claimable))
            }
        }
        if demands.isEmpty || request.slots <= 0 { return [] }
        var claimed: [ClaimedJob] = []
        claimed.reserveCapacity(request.slots)
        if room.isLimited {
            for (job, queue) in try select(request, demands, room) {
                try start(job, queue: queue, by: holder, now: now, into: &claimed)
            }
            return claimed
        }
        let given = shares.divide(request.slots, among: demands)
        for (demand, slots) in zip(demands, given) where slots > 0 {
            for job in try select(slots, from: demand.key, ageing: request.ageing, &room) ?? [] {
                try start(job, queue: demand.key, by: holder, now: now, into: &claimed)
            }
        }
        return claimed
    }

    /// Selects the jobs of a claim that some jobs may have no room in.
    private func select(
        _ request: ClaimRequest, _ demands: [FairShare.Demand], _ room: ClaimRoom
    ) throws(SQLiteError) -> [(job: ReadyJob, queue: Int)] {
        if let selected = try selectAllInTurn(request, demands, room) { return selected }
        var scan = RoomScan(self, demands, room, ageing: request.ageing)
        return try scan.select(request.slots, shares: &shares)
    }

    /// Selects the jobs whose turn it is, as in a claim without limits. Nil if one of them has no room.
    private func selectAllInTurn(
        _ request: ClaimRequest, _ demands: [FairShare.Demand], _ room: ClaimRoom
    ) throws(SQLiteError) -> [(job: ReadyJob, queue: Int)]? {
        var shares = self.shares
        var room = room
        var selected: [(job: ReadyJob, queue: Int)] = []
        for (demand, slots) in zip(demands, shares.divide(request.slots, among: demands)) where slots > 0 {
            guard let jobs = try select(slots, from: demand.key, ageing: request.ageing, &room) else { return nil }
            for job in jobs { selected.append((job, demand.key)) }
        }
        self.shares = shares
        return selected
    }

    /// Starts the next jobs that are on trial (``CrashTrials``), and no others.
    private func startTrials(
        _ slots: Int, _ room: inout ClaimRoom, by holder: HolderID, now: Timestamp
    ) throws(SQLiteError) -> [ClaimedJob] {
        var claimed: [ClaimedJob] = []
        // A job on trial is a suspect.
        while claimed.count < slots, room.admitsSuspects, let next = trials.next(now: steady.moment) {
            let found = try claiming.readyJob.first([.job <- next]) { (row) throws(SQLiteError) in
                (job: ReadyJob(row), queue: try memory.queueIndex(id: row.integer(7)))
            }
            let suspect = found.map { RoomClass.suspect(memory.kind(of: $0.job.definition)) }
            // The job is no longer ready, its queue is paused or full, or its worker cannot run it. Other jobs must not
            // wait for it.
            guard let found, let suspect, memory.queues[found.queue].claimable > 0, room.admits(suspect) else {
                trials.skip()
                continue
            }
            trials.begin(now: steady.moment)
            room.take(suspect)
            try start(found.job, queue: found.queue, by: holder, now: now, into: &claimed)
        }
        return claimed
    }

    /// Selects the jobs of one queue that start next. Reads the first row of each of the five priorities and one more
    /// row for each selected job, however many jobs are waiting (P9). The time that a job has been ready is measured on
    /// the steady scale, so that jobs also age when the wall clock is set back.
    ///
    /// - Returns: Nil if one of the jobs has no room.
    private func select(
        _ slots: Int, from queue: Int, ageing: Duration, _ room: inout ClaimRoom
    ) throws(SQLiteError) -> [ReadyJob]? {
        defer { for cursor in claiming.ready { cursor.reset() } }
        var heads: [ReadyJob?] = []
        heads.reserveCapacity(claiming.ready.count)
        for cursor in claiming.ready { heads.append(try cursor.first(queue: memory.queues[queue].id)) }
        var selected: [ReadyJob] = []
        selected.reserveCapacity(slots)
        while selected.count < slots, let level = levelOfNext(heads, ageing: ageing), let job = heads[level] {
            if room.isLimited {
                let roomClass = try roomClass(of: job)
                guard room.admits(roomClass) else { return nil }
                room.take(roomClass)
            }
            selected.append(job)
            heads[level] = try claiming.ready[level].next()
        }
        return selected
    }

    /// The level of the job that starts next; nil if there is none.
    ///
    /// - Parameter heads: The first job of each priority, the highest priority first.
    func levelOfNext(_ heads: [ReadyJob?], ageing: Duration) -> Int? {
        let now = steady.moment
        var best: (level: Int, priority: Priority, job: ReadyJob)?
        for (level, head) in heads.enumerated() {
            guard let head else { continue }
            let priority = claiming.ready[level].priority.aged(readySince: head.readySince, now: now, step: ageing)
            // If two jobs have equal priority, the one that has been ready longer goes first. Without ageing, a
            // lower level never has an equal priority here.
            if let found = best, !isBetter(priority, head, than: found) { continue }
            best = (level, priority, head)
        }
        return best?.level
    }

    private func isBetter(
        _ priority: Priority, _ job: ReadyJob, than other: (level: Int, priority: Priority, job: ReadyJob)
    ) -> Bool {
        if priority != other.priority { return priority > other.priority }
        return job.place < other.job.place
    }

    private func start(
        _ job: ReadyJob, queue: Int, by holder: HolderID, now: Timestamp, into claimed: inout [ClaimedJob]
    ) throws(SQLiteError) {
        if isCancelling, try cancelIfAsked(job.id, now: now) {
            claimsAgain = true
            trials.ended(job.id)
            return try settleDependents(of: job.id, .cancelled, now: now)
        }
        // If no row changed, another program wrote to the database. Leave the job alone.
        guard try claiming.start.runCountingChanges([.job <- job.id, .now <- now, .holder <- holder]) == 1 else {
            return
        }
        let input = try claiming.input.first([.job <- job.id]) { $0.json(0) } ?? nil
        let attempt = job.attempt &+ 1
        memory.running[job.id] = RunningJob(
            attempt: attempt, queue: queue, graph: job.graph, startedAt: now, holder: holder,
            isCancelRequested: false)
        count(queue: queue, graph: job.graph, from: .ready, to: .running, now: now)
        note(job.id, graph: job.graph, state: .running, attempt: attempt)
        claimed.append(
            ClaimedJob(
                lease: Lease(job: job.id, attempt: attempt), definition: job.definition, graph: job.graph, input: input,
                hasDependencies: job.hasDependencies, tries: job.tries, checkpoint: try checkpoint(of: job.id),
                isSuspect: try isSuspect(job)))
    }

    /// Whether the job's last attempt, apart from interrupted ones, ended in a crash.
    func isSuspect(_ job: ReadyJob) throws(SQLiteError) -> Bool {
        // An attempt that was neither interrupted nor crashed has used up a try.
        guard job.attempt > job.tries else { return false }
        return try claiming.lastOutcome.first([.job <- job.id]) { $0.integer(0) } == crashedOutcome
    }
}

private let crashedOutcome = Int64(AttemptOutcome.crashed.rawValue)
