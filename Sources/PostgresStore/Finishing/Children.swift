import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Locks what the children of ends need, before anything else and in one order of tables and numbers: the jobs that
    /// they depend on, and the dependents of the ending jobs. Another transaction may end the former, with children that
    /// depend on the latter.
    func lockDependencies(of ends: [AttemptEnd]) throws(PostgresError) {
        var jobs: Set<JobID> = []
        for end in ends {
            for child in end.ending.children { jobs.formUnion(child.existingDependencies) }
        }
        if ends.allSatisfy({ $0.ending.children.isEmpty }) { return }
        let ending = ends.map(\.lease.job)
        try run(Statements.running, .jobs(jobs.union(ending).sorted()))
        if !jobs.isEmpty {
            for statement in Statements.waiting { try run(statement, .jobs(jobs.sorted())) }
        }
        let final = ends.compactMap { end in
            end.ending.finalOutcome.map { FinalJob(job: end.lease.job, outcome: $0) }
        }
        try lockDependents(of: final, and: jobs)
    }

    /// Records successes with children one after the other, since the children of one may depend on the job of another, or
    /// share its key.
    ///
    /// - Parameters:
    ///   - keys: The keys of the children of all ends.
    ///   - home: The identity of the holder's daemon.
    /// - Returns: The new state of each job.
    func finish(
        _ parents: [(index: Int, end: AttemptEnd, job: EndingJob)], _ keys: inout NewKeys, firstChildren: [Int],
        home: String, now: Timestamp
    ) throws(PostgresError) -> [(index: Int, state: JobState)] {
        // Jobs whose end follows have no row now. For the children of others they are open, and their end releases them.
        var ending = Dictionary(parents.map { ($0.job.row.job, JobState.running) }) { first, _ in first }
        var states: [(index: Int, state: JobState)] = []
        for (index, end, job) in parents {
            guard case .succeeded(let value, let children) = end.ending else { continue }
            ending[job.row.job] = .succeeded
            try makeQueues(of: children)
            let decisions = try plan(children, keys, ending: ending, now: now)
            ending[job.row.job] = nil
            var rows = EndRows(home: home)
            if let refusal = decisions.lazy.compactMap(\.refusal).first {
                let failure = JobFailure(
                    code: JobFailure.Code.childrenRefused,
                    message:
                        "It succeeded, but a job that it enqueues was refused: \(refusal). Correct the operation.")
                let next = NextStep.final(.failed, failure)
                try close(job, EndedAttempt(.failed, failure), as: next, of: end, into: &rows, now: now)
                try write(rows, now: now)
                states.append((index, next.state))
                continue
            }
            try close(job, EndedAttempt(.succeeded), as: .succeeded(value), of: end, into: &rows, now: now)
            try write(rows, now: now)
            _ = try insert(children, decisions, &keys, from: firstChildren[index], now: now)
            states.append((index, .succeeded))
        }
        return states
    }

    private enum Statements {
        static let running = Statement(
            "SELECT 1 FROM halyard.running WHERE job = ANY ($1::bigint[]) ORDER BY job FOR UPDATE")
        static let waiting = [
            Statement("SELECT 1 FROM halyard.ready WHERE job = ANY ($1::bigint[]) ORDER BY job FOR SHARE"),
            Statement("SELECT 1 FROM halyard.scheduled WHERE job = ANY ($1::bigint[]) ORDER BY job FOR SHARE"),
        ]
    }
}

extension Writer.Decision {
    /// The reason why the graph is not accepted; nil if it is, or was before.
    fileprivate var refusal: EnqueueProblem? {
        switch self {
        case .refused(let refusal), .answered(.refused(let refusal)): refusal
        case .answered, .repeats, .accepted: nil
        }
    }
}

extension AttemptEnd.Ending {
    /// The outcome of the job, if it usually becomes final.
    fileprivate var finalOutcome: Outcome? {
        switch self {
        case .succeeded: .succeeded
        case .failed: .failed
        case .cancelled: .cancelled
        case .interrupted, .retry, .crashed: nil
        }
    }
}
