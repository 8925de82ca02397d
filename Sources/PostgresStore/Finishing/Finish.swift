import Jobs
import PostgreSQL
import StoreParts

/// A running job whose attempt ends. Its row is already deleted.
struct EndingJob {
    var row: OpenRow
    var holder: HolderID
    var cancelAt: Timestamp?

    /// Reads the columns of ``OpenRow``, then daemon and cancel_ms.
    init(_ row: Row) {
        self.row = OpenRow(row)
        holder = HolderID(row.integer(9))
        cancelAt = row.optionalTimestamp(10)
    }

    static let columns = "\(OpenRow.columns), daemon, cancel_ms"
}

/// The next step of a job whose attempt has ended.
enum NextStep {
    case succeeded(JSONText)
    case final(Outcome, JobFailure)
    /// The attempt counts as a try. The job is ready again after the wait.
    case retry(after: Duration)
    /// The attempt was interrupted. The job is ready again, at its place among the ready jobs.
    case resume
    /// The process that ran the attempt ended. As `resume`, but the rescue is counted.
    case rescue

    var state: JobState {
        switch self {
        case .succeeded: .succeeded
        case .final(let outcome, _): outcome.state
        case .retry(let wait): wait > .zero ? .scheduled : .ready
        case .resume, .rescue: .ready
        }
    }

    /// The next step of a job whose process has ended.
    ///
    /// - Parameter failure: The failure with which the job ends; nil if it may run again.
    init(afterCrashOf job: EndingJob, failure: JobFailure?) {
        if job.cancelAt != nil {
            self = .final(.cancelled, .cancelledWhileRunning)
        } else if let failure {
            self = .final(.failed, failure)
        } else {
            self = .rescue
        }
    }
}

extension Writer {
    /// Records the ends of attempts and all their consequences (P4), if the attempts still have their leases (P3, H3).
    ///
    /// - Parameter home: The identity of the holder's daemon, which keeps the files of the attempts.
    func finish(
        _ ends: [AttemptEnd], by holder: HolderID, home: String, now: Timestamp
    ) throws(PostgresError) -> [FinishResult] {
        if ends.isEmpty { return [] }
        var running: [Lease: EndingJob] = [:]
        // K1
        let children = ends.map(\.ending.children)
        var keys = try insertKeys(of: children.flatMap(\.self))
        try lockDependencies(of: ends)
        // In one order, so that two transactions that end the same jobs do not wait for each other.
        let leases = ends.map(\.lease).sorted { ($0.job, $0.attempt) < ($1.job, $1.attempt) }
        try run(
            Statements.take, .jobs(leases.map(\.job)), .integers(leases.map { Int64($0.attempt) }),
            .integer(holder.rawValue)
        ).forEach { row in
            let job = EndingJob(row)
            running[Lease(job: job.row.job, attempt: job.row.attempt)] = job
        }
        var results: [FinishResult?] = []
        var parents: [(index: Int, end: AttemptEnd, job: EndingJob)] = []
        var rows = EndRows(home: home)
        for end in ends {
            // The first of two ends of one lease counts.
            guard let job = running.removeValue(forKey: end.lease) else {
                results.append(.leaseLost)
                continue
            }
            if !end.ending.children.isEmpty {
                parents.append((results.count, end, job))
                results.append(nil)
                continue
            }
            let (attempt, next) = try decide(end, job, now: now)
            try close(job, attempt, as: next, of: end, into: &rows, now: now)
            results.append(.recorded(next.state))
        }
        try write(rows, now: now)
        // The index of each end's first child among all children.
        let firstChildren = children.reduce(into: [0]) { $0.append($0.last! + $1.count) }
        for (index, state) in try finish(
            parents, &keys, firstChildren: firstChildren, home: home, now: now)
        {
            results[index] = .recorded(state)
        }
        try dropUnused(keys)
        return results.compactMap(\.self)
    }

    private func decide(
        _ end: AttemptEnd, _ job: EndingJob, now: Timestamp
    ) throws(PostgresError) -> (EndedAttempt, NextStep) {
        let isCancelled = job.cancelAt != nil
        switch end.ending {
        case .succeeded(let value, _): return (EndedAttempt(.succeeded), .succeeded(value))
        case .failed(let failure, let timedOut):
            return (EndedAttempt(timedOut ? .timedOut : .failed, failure), .final(.failed, failure))
        case .retry(let failure, let timedOut, let wait):
            let attempt = EndedAttempt(
                timedOut ? .timedOut : .failed, failure, retryAt: isCancelled ? nil : now + wait)
            return (attempt, isCancelled ? .final(.cancelled, .cancelledWhileRunning) : .retry(after: wait))
        case .cancelled:
            return (EndedAttempt(.cancelled, .cancelledWhileRunning), .final(.cancelled, .cancelledWhileRunning))
        case .interrupted:
            return (
                EndedAttempt(.interrupted, .interrupted),
                isCancelled ? .final(.cancelled, .cancelledWhileRunning) : .resume
            )
        case .crashed(let crash, let maxCrashes):
            var failure: JobFailure?
            // Other crashes count against no job.
            if crash.others == 0 {
                var crashes = try earlierCrashes(of: [job.row.job])[job.row.job] ?? CrashCount()
                failure = crashes.add(
                    of: job.row.job, isExplained: crash.isExplained, isAlone: true, maxCrashes: maxCrashes,
                    end: crash.failure)
            }
            return (EndedAttempt(.crashed, crash.countedFailure), NextStep(afterCrashOf: job, failure: failure))
        }
    }

    /// Adds the rows that record the end of one attempt. The job's row in `running` is already deleted.
    func close(
        _ job: EndingJob, _ attempt: EndedAttempt, as next: NextStep, of end: AttemptEnd?, into rows: inout EndRows,
        now: Timestamp
    ) throws(PostgresError) {
        var row = job.row
        let state = next.state
        var keptIn: String?
        let lane = try lane(row.lane)
        addRunning(-1, holder: job.holder, queue: lane.queue)
        if !memory.trials.isEmpty { memory.trials.ended(row.job) }
        count(queue: lane.queue, graph: row.graph, from: .running, to: state, now: now)
        var dueAt: Timestamp?
        switch next {
        case .succeeded(let value):
            row.tries += 1
            if value.isKeptFile { keptIn = rows.home }
            rows.done.append(
                DoneRow(
                    row, .succeeded, attempt: row.attempt, value: value, failure: nil, cancelAt: job.cancelAt,
                    connections: end?.connections, usage: end?.usage))
        case .final(let outcome, let failure):
            row.tries += 1
            rows.done.append(
                DoneRow(row, outcome, attempt: row.attempt, value: nil, failure: failure, cancelAt: job.cancelAt))
        case .retry(let wait):
            row.tries += 1
            row.dueAt = now + wait
            row.steadyAt = time.steady.moment + wait
            // Jobs that become ready in the same millisecond are ordered by number, not by transaction.
            row.lane = try number(of: lane, state == .ready ? .returned : .fresh)
            if state == .scheduled {
                dueAt = row.dueAt
                time.steady.notesWait(now: now)
                rows.scheduled.append(row)
            } else {
                rows.ready.append(row)
            }
        case .resume:
            row.lane = try number(of: lane, lane.laneClass == .suspect ? .suspect : .returned)
            rows.ready.append(row)
        case .rescue:
            row.rescues += 1
            // An attempt that counts as interrupted says nothing about the job.
            row.lane = try number(
                of: lane, attempt.outcome == .crashed || lane.laneClass == .suspect ? .suspect : .returned)
            rows.ready.append(row)
        }
        note(row.job, graph: row.graph, state: state, attempt: row.attempt, dueAt: dueAt)
        if let failure = attempt.failure {
            rows.attempts.append(
                AttemptRow(
                    row, attempt.outcome, failure, retryAt: attempt.retryAt, connections: end?.connections,
                    usage: end?.usage))
        }
        if let outcome = state.outcome { rows.final.append(FinalJob(job: row.job, outcome: outcome, home: keptIn)) }
    }

    private enum Statements {
        /// Only the last attempt of a job can be running. Rows are found by job, since the index of daemons contains
        /// every row that this daemon has had and that cannot be removed yet. The arrays are sorted.
        static let take = Statement(
            """
            DELETE FROM halyard.running
            WHERE  job = ANY ($1::bigint[])
            AND    attempt = ($2::bigint[])[width_bucket(job, $1::bigint[])]
            AND    daemon + 0 = $3::bigint
            RETURNING \(EndingJob.columns)
            """)
    }
}
