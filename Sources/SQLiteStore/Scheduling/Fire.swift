import Jobs
import SQLite

extension Writer {
    /// Moves the schedule to its next time. Returns false if the row has changed since it was read.
    func move(_ timing: ScheduleTiming) throws(SQLiteError) -> Bool {
        try scheduling.move.bind(1, timing.name)
        scheduling.move.bind(2, timing.revision)
        scheduling.move.bind(3, timing.expected?.milliseconds)
        scheduling.move.bind(4, timing.after.milliseconds)
        scheduling.move.bind(5, timing.nextAt?.milliseconds)
        scheduling.move.bind(6, timing.updatedAt.milliseconds)
        guard try scheduling.move.runCountingChanges() > 0 else { return false }
        if case .write(let problem) = timing.problem {
            try scheduling.refused.bind(1, timing.name)
            try scheduling.refused.bind(2, problem)
            try scheduling.refused.run()
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
            try scheduling.skipped.bind(1, name)
            scheduling.skipped.bind(2, time.milliseconds)
            try scheduling.skipped.run()
            return .skipped(lastJob: job, lastGraph: record.lastGraph)
        }
        let receipt: EnqueueReceipt
        switch try enqueue(graph) {
        case .enqueued(let new), .duplicate(let new): receipt = new
        case .refused(let refusal): return try refuse(name, reason(of: refusal))
        }
        try scheduling.fired.bind(1, name)
        scheduling.fired.bind(2, time.milliseconds)
        scheduling.fired.bind(3, receipt.jobs[0].rawValue)
        scheduling.fired.bind(4, receipt.graph?.rawValue)
        try scheduling.fired.run()
        return .fired(receipt)
    }

    /// Enqueues the schedule's work outside its calendar. Nil if there is no such schedule.
    func run(
        schedule name: String, _ enqueue: () throws(SQLiteError) -> EnqueueOutcome
    ) throws(SQLiteError) -> EnqueueOutcome? {
        guard try schedule(name) != nil else { return nil }
        let outcome = try enqueue()
        if case .enqueued(let receipt) = outcome {
            try scheduling.ran.bind(1, name)
            scheduling.ran.bind(2, receipt.jobs[0].rawValue)
            scheduling.ran.bind(3, receipt.graph?.rawValue)
            try scheduling.ran.run()
        }
        return outcome
    }

    private func refuse(_ name: String, _ reason: String) throws(SQLiteError) -> FiringOutcome {
        try scheduling.refused.bind(1, name)
        try scheduling.refused.bind(2, reason)
        try scheduling.refused.run()
        return .refused(reason)
    }

    /// Describes why the enqueue was refused: something has changed since the firing was planned. The schedule
    /// continues with its next time.
    private func reason(of refusal: EnqueueRefusal) -> String {
        switch refusal {
        case .unknownQueue(let queue): "The queue \"\(queue)\" was just removed."
        case .unknownDefinition: "Its definition was just removed."
        case .unknownDependency(let job): "There is no job \(job) to wait for."
        case .hiddenCharacter(let character, let field): "The text of \(field) contains \(character)."
        case .cycle: "The dependencies form a cycle."
        case .keyUsedForAnotherRequest(let key): "The key \"\(key)\" was used for another request."
        }
    }

    /// Whether the graph, or the lone job, is not final. If it no longer exists, it was pruned, so it is final.
    private func isOpen(_ job: JobID, _ graph: GraphID?) throws(SQLiteError) -> Bool {
        guard let graph else {
            scheduling.openJob.bind(1, job.rawValue)
            defer { scheduling.openJob.reset() }
            return try scheduling.openJob.step() && scheduling.openJob.integer(0) != 0
        }
        scheduling.openGraph.bind(1, graph.rawValue)
        defer { scheduling.openGraph.reset() }
        guard try scheduling.openGraph.step() else { return false }
        // This transaction writes its changes of the graph's counts only at its end.
        let change = graphChanges[graph]?.tally ?? Tally()
        let open = JobState.allCases.filter { !$0.isFinal }.reduce(0) { $0 + change[$1] }
        return scheduling.openGraph.integer(0) + open > 0
    }
}
