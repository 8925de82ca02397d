import Jobs
import SQLite

extension Writer {
    /// Claims up to `request.slots` jobs: selects ready jobs, then marks each as running. Everything happens in the
    /// caller's transaction.
    func claim(_ request: ClaimRequest, now: Timestamp) throws(SQLiteError) -> [ClaimedJob] {
        if !trials.isEmpty {
            let tried = try startTrials(request.slots, now: now)
            if trials.holdsOthers(now: steady.moment) != nil || tried.count >= request.slots { return tried }
        }
        var demands: [FairShare.Demand] = []
        for index in memory.liveQueues {
            let queue = memory.queues[index]
            let claimable = queue.claimable
            if claimable > 0 {
                demands.append(FairShare.Demand(key: index, weight: queue.settings.weight, wanted: claimable))
            }
        }
        if demands.isEmpty || request.slots <= 0 { return [] }
        var claimed: [ClaimedJob] = []
        claimed.reserveCapacity(request.slots)
        let given = shares.divide(request.slots, among: demands)
        for (demand, slots) in zip(demands, given) where slots > 0 {
            for job in try select(slots, from: demand.key, ageing: request.ageing) {
                try start(job, queue: demand.key, now: now, into: &claimed)
            }
        }
        return claimed
    }

    /// Starts the next jobs that are on trial (``CrashTrials``), and no others.
    private func startTrials(_ slots: Int, now: Timestamp) throws(SQLiteError) -> [ClaimedJob] {
        var claimed: [ClaimedJob] = []
        while claimed.count < slots, let next = trials.next(now: steady.moment) {
            claiming.readyJob.bind(1, next.rawValue)
            let found = try claiming.readyJob.step() ? claiming.readyJob.readyJob() : nil
            let queueID = claiming.readyJob.integer(7)
            claiming.readyJob.reset()
            let queue = try found == nil ? 0 : memory.queueIndex(id: queueID)
            // The job is no longer ready, or its queue is paused or full. Other jobs must not wait for it.
            guard let found, memory.queues[queue].claimable > 0 else {
                trials.skip()
                continue
            }
            trials.begin(now: steady.moment)
            try start(found, queue: queue, now: now, into: &claimed)
        }
        return claimed
    }

    /// Selects the jobs of one queue that start next. Reads the first row of each of the five priorities and one more
    /// row for each selected job, however many jobs are waiting (P9). The time that a job has been ready is measured on
    /// the steady scale, so that jobs also age when the wall clock is set back.
    private func select(
        _ slots: Int, from queue: Int, ageing: Duration
    ) throws(SQLiteError) -> [ReadyJob] {
        let now = steady.moment
        var heads: [ReadyJob?] = []
        heads.reserveCapacity(claiming.ready.count)
        for cursor in claiming.ready { heads.append(try cursor.first(queue: memory.queues[queue].id)) }
        var selected: [ReadyJob] = []
        selected.reserveCapacity(slots)
        while selected.count < slots {
            var best: (level: Int, priority: Priority, job: ReadyJob)?
            for (level, head) in heads.enumerated() {
                guard let head else { continue }
                let priority = claiming.ready[level].priority.aged(readySince: head.readySince, now: now, step: ageing)
                // If two jobs have equal priority, the one that has been ready longer goes first. Without ageing, a
                // lower level never has an equal priority here.
                if let found = best, !isBetter(priority, head, than: found) { continue }
                best = (level, priority, head)
            }
            guard let best else { break }
            selected.append(best.job)
            heads[best.level] = try claiming.ready[best.level].next()
        }
        for cursor in claiming.ready { cursor.reset() }
        return selected
    }

    private func isBetter(
        _ priority: Priority, _ job: ReadyJob, than other: (level: Int, priority: Priority, job: ReadyJob)
    ) -> Bool {
        if priority != other.priority { return priority > other.priority }
        return (job.readySince, job.id) < (other.job.readySince, other.job.id)
    }

    private func start(
        _ job: ReadyJob, queue: Int, now: Timestamp, into claimed: inout [ClaimedJob]
    ) throws(SQLiteError) {
        if isCancelling, try cancelIfAsked(JobID(job.id), now: now) {
            claimsAgain = true
            trials.ended(JobID(job.id))
            return try settleDependents(of: JobID(job.id), .cancelled, now: now)
        }
        claiming.start.bind(1, job.id)
        claiming.start.bind(2, now.milliseconds)
        // No row changed, so another program wrote to the database. Leave the job alone.
        guard try claiming.start.runCountingChanges() == 1 else { return }
        claiming.input.bind(1, job.id)
        let input = try claiming.input.step() ? claiming.input.json(0) : nil
        claiming.input.reset()
        let id = JobID(job.id)
        let attempt = job.attempt &+ 1
        memory.running[id] = RunningJob(
            attempt: attempt, queue: queue, graph: job.graph, startedAt: now, isCancelRequested: false)
        count(queue: queue, graph: job.graph, from: .ready, to: .running, now: now)
        note(id, graph: job.graph, state: .running, attempt: attempt)
        claimed.append(
            ClaimedJob(
                lease: Lease(job: id, attempt: attempt), definition: job.definition, graph: job.graph, input: input,
                hasDependencies: job.hasDependencies, tries: job.tries))
    }
}

/// The columns of a ready job that a claim needs.
struct ReadyJob {
    let id: Int64
    /// The time since which the job has been ready, on the steady scale.
    let readySince: Timestamp
    let attempt: Int
    let tries: Int
    let definition: DefinitionID
    let graph: GraphID?
    let hasDependencies: Bool
}

/// Iterates over the ready jobs of one queue and one priority, longest ready first.
final class ReadyCursor {
    let priority: Priority
    private let statement: Statement

    init(_ priority: Priority, _ statement: consuming Statement) {
        self.priority = priority
        self.statement = statement
    }

    func first(queue: Int64) throws(SQLiteError) -> ReadyJob? {
        statement.bind(1, queue)
        statement.bind(2, priority.rawValue)
        return try next()
    }

    func next() throws(SQLiteError) -> ReadyJob? {
        try statement.step() ? statement.readyJob() : nil
    }

    func reset() { statement.reset() }
}

extension Statement {
    fileprivate func readyJob() -> ReadyJob {
        ReadyJob(
            id: integer(0), readySince: Timestamp(milliseconds: integer(1)), attempt: Int(integer(2)),
            tries: Int(integer(3)), definition: DefinitionID(integer(4)),
            graph: optionalInteger(5).map(GraphID.init(_:)), hasDependencies: integer(6) > 0)
    }
}
