import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Moves the schedule to its next time. Returns false if the row has changed since it was read.
    func move(_ timing: ScheduleTiming) throws(SQLiteError) -> Bool {
        let changes = try scheduling.move.runCountingChanges([
            .name <- timing.name, .revision <- timing.revision, .updated <- timing.updatedAt,
            .expected <- timing.expected, .after <- timing.after, .next <- timing.nextAt,
        ])
        guard changes > 0 else { return false }
        if case .write(let problem) = timing.problem {
            try scheduling.refused.run([.name <- timing.name, .problem <- problem])
        }
        return true
    }

    /// Fires the schedule, once for each time. The move names the expected time, so a second firing for the same time
    /// changes nothing.
    func fire(
        _ firing: ScheduleFiring, now: Timestamp, _ enqueue: (NewGraph) throws(SQLiteError) -> EnqueueOutcome
    ) throws(SQLiteError) -> FiringOutcome {
        let name = firing.timing.name
        guard let time = firing.timing.expected, try move(firing.timing), let record = try schedule(name) else {
            return .stale
        }
        try mark(name)
        let graph: NewGraph
        switch firing.work {
        case .refused(let reason): return try refuse(name, reason)
        case .enqueue(let work): graph = work
        }
        if record.schedule.overlap == .skip, let job = record.lastJob, try isOpen(job, record.lastGraph) {
            try scheduling.skipped.run([.name <- name, .now <- time])
            return .skipped(lastJob: job, lastGraph: record.lastGraph)
        }
        let receipt: EnqueueReceipt
        switch try enqueue(graph) {
        case .enqueued(let new), .duplicate(let new): receipt = new
        case .refused(let refusal): return try refuse(name, refusal.reasonForSchedule)
        }
        try scheduling.fired.run([
            .name <- name, .now <- time, .job <- receipt.jobs[0], .graph <- receipt.graph,
        ])
        return .fired(receipt)
    }

    /// Enqueues the schedule's work outside its calendar. Nil if there is no such schedule.
    func run(
        schedule name: String, _ enqueue: () throws(SQLiteError) -> EnqueueOutcome
    ) throws(SQLiteError) -> EnqueueOutcome? {
        guard try schedule(name) != nil else { return nil }
        let outcome = try enqueue()
        if case .enqueued(let receipt) = outcome {
            try scheduling.ran.run([.name <- name, .job <- receipt.jobs[0], .graph <- receipt.graph])
        }
        return outcome
    }

    private func refuse(_ name: String, _ reason: String) throws(SQLiteError) -> FiringOutcome {
        try scheduling.refused.run([.name <- name, .problem <- reason])
        return .refused(reason)
    }

    /// Whether the graph, or the lone job, is not final. If it no longer exists, it was pruned, so it is final.
    private func isOpen(_ job: JobID, _ graph: GraphID?) throws(SQLiteError) -> Bool {
        guard let graph else { return try scheduling.openJob.exists([.job <- job]) }
        guard let openJobs = try cancelling.graph.first([.graph <- graph], { $0.integer(0) }) else { return false }
        // This transaction writes its changes to the graph's counts only at its end.
        return openJobs + (graphChanges[graph]?.tally.open ?? 0) > 0
    }
}
