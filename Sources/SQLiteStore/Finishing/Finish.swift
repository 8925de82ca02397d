import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Records the end of an attempt and all its consequences (P4), if the holder's attempt still has its lease (P3, H3).
    ///
    /// - Parameter staged: The attempt's children, if there are so many that they are stored in parts.
    func finish(
        _ end: AttemptEnd, _ staged: StagedChildren? = nil, by holder: HolderID, now: Timestamp
    ) throws(SQLiteError) -> FinishResult {
        let lease = end.lease
        guard let running = memory.running[lease.job], running.attempt == lease.attempt, running.holder == holder
        else { return .leaseLost }
        let attempt: EndedAttempt
        let next: Next
        switch end.ending {
        case .succeeded(let value, let children):
            let staged = staged ?? StagedChildren(small: children)
            try makeQueues(of: staged.small)
            // A queue may have been removed since the children were stored.
            for graph in staged.large { try makeQueues(named: graph.summary.queues.keys) }
            if let refusal = try refusal(of: staged, now: now) {
                let failure = JobFailure(
                    code: JobFailure.Code.childrenRefused,
                    message: "It succeeded, but a job that it enqueues was refused: \(refusal). Correct the operation.")
                attempt = EndedAttempt(.failed, failure)
                next = .final(.failed, failure)
                break
            }
            guard
                try close(
                    lease, running, EndedAttempt(.succeeded), as: .succeeded(value), of: end, now: now)
            else { return .leaseLost }
            var outcomes = try enqueue(staged.small, now: now)
            for graph in staged.large { outcomes.append(try accept(graph, now: now)) }
            for case .refused(let refusal) in outcomes {
                // Throwing rolls back the transaction, and with it the end of the attempt.
                throw SQLiteError(
                    code: SQLiteError.Primary.mismatch.rawValue,
                    message: "a child was refused after its check: \(refusal)")
            }
            return .recorded(.succeeded)
        case .failed(let failure, let timedOut):
            attempt = EndedAttempt(timedOut ? .timedOut : .failed, failure)
            next = .final(.failed, failure)
        case .retry(let failure, let timedOut, let wait):
            attempt = EndedAttempt(
                timedOut ? .timedOut : .failed, failure, retryAt: running.isCancelRequested ? nil : now + wait)
            next = running.isCancelRequested ? .final(.cancelled, .cancelledWhileRunning) : .retry(after: wait)
        case .cancelled:
            attempt = EndedAttempt(.cancelled, .cancelledWhileRunning)
            next = .final(.cancelled, .cancelledWhileRunning)
        case .interrupted:
            attempt = EndedAttempt(.interrupted, .interrupted)
            next = running.isCancelRequested ? .final(.cancelled, .cancelledWhileRunning) : .resume
        case .crashed(let crash, let maxCrashes):
            attempt = EndedAttempt(.crashed, crash.countedFailure)
            var failure: JobFailure?
            // Other crashes count against no job.
            if crash.others == 0 {
                var crashes = try earlierCrashes(of: lease.job)
                failure = crashes.add(
                    of: lease.job, isExplained: crash.isExplained, isAlone: true, maxCrashes: maxCrashes,
                    end: crash.failure)
            }
            next = Next(afterCrashOf: running, failure: failure)
        }
        guard try close(lease, running, attempt, as: next, of: end, now: now) else {
            return .leaseLost
        }
        return .recorded(next.state)
    }

    /// The next step of a job whose attempt has ended.
    enum Next {
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
    }

    /// Ends the attempt of a running job.
    ///
    /// - Parameter end: The end that the runner reported; nil if the store ends the attempt itself.
    /// - Returns: False if the job's row no longer names this attempt. Nothing was changed then.
    func close(
        _ lease: Lease, _ running: RunningJob, _ attempt: EndedAttempt, as next: Next, of end: AttemptEnd? = nil,
        now: Timestamp
    ) throws(SQLiteError) -> Bool {
        let (job, state) = (lease.job, next.state)
        var dueAt: Timestamp?
        let changes: Int
        switch next {
        case .succeeded, .final:
            changes = try finishing.endJob.runCountingChanges([
                .job <- job, .attempt <- lease.attempt, .state <- state, .now <- now,
            ])
        case .retry(let wait):
            changes = try finishing.retryJob.runCountingChanges([
                .job <- job, .attempt <- lease.attempt, .state <- state, .due <- now + wait,
                .steady <- steady.moment + wait,
            ])
            if state == .scheduled { dueAt = now + wait }
        case .resume, .rescue:
            let rescues = if case .rescue = next { 1 } else { 0 }
            changes = try finishing.returnJob.runCountingChanges([
                .job <- job, .attempt <- lease.attempt, .rescues <- rescues,
            ])
        }
        guard changes == 1 else { return false }
        if dueAt != nil { steady.notesWait(now: now) }
        memory.running[job] = nil
        if !trials.isEmpty { trials.ended(job) }
        count(queue: running.queue, graph: running.graph, from: .running, to: state, now: now)
        note(job, graph: running.graph, state: state, attempt: lease.attempt, dueAt: dueAt)
        try recordAttempt(lease, running, attempt, end, now: now)
        switch next {
        case .succeeded(let value):
            try recordResult(job, attempt: lease.attempt, value, now: now)
            try settleDependents(of: job, .succeeded, now: now)
        case .final(let outcome, let failure):
            try recordResult(job, attempt: lease.attempt, outcome, failure, now: now)
            try settleDependents(of: job, outcome, now: now)
        case .retry, .resume, .rescue:
            if state == .ready { try noteReady(job, queue: running.queue) }
        }
        return true
    }

    private func recordAttempt(
        _ lease: Lease, _ running: RunningJob, _ attempt: EndedAttempt, _ end: AttemptEnd?, now: Timestamp
    ) throws(SQLiteError) {
        try finishing.insertAttempt.run([
            .job <- lease.job, .number <- lease.attempt, .outcome <- attempt.outcome, .started <- running.startedAt,
            .ended <- now, .code <- attempt.failure?.code, .message <- attempt.failure?.message,
            .detail <- attempt.failure?.detail, .retry <- attempt.retryAt, .connections <- end?.connections,
            .usage <- end?.usage,
        ])
    }

    private func recordResult(
        _ job: JobID, attempt: Int, _ value: JSONText, now: Timestamp
    ) throws(SQLiteError) {
        try value.withoutCopy { (value) throws(SQLiteError) in
            try finishing.insertValue.run([.job <- job, .attempt <- attempt, .now <- now, .value <- value])
        }
        try deleteCheckpoint(of: job)
    }

    /// - Parameter attempt: 0 if the job ended without an attempt.
    func recordResult(
        _ job: JobID, attempt: Int, _ outcome: Outcome, _ failure: JobFailure, now: Timestamp
    ) throws(SQLiteError) {
        try finishing.insertFailure.run([
            .job <- job, .attempt <- attempt, .outcome <- outcome, .now <- now, .code <- failure.code,
            .message <- failure.message, .detail <- failure.detail,
        ])
        try deleteCheckpoint(of: job)
    }

    private func refusal(of children: StagedChildren, now: Timestamp) throws(SQLiteError) -> EnqueueProblem? {
        if let refusal = children.refusal { return refusal }
        var keys: [String: Int64] = [:]
        for graph in children.large {
            if case .refused(let refusal) = try obstacle(to: graph) { return refusal }
            if let key = graph.summary.key { keys[key.name] = key.fingerprint }
        }
        for child in children.small {
            if case .answered(.refused(let refusal)) = try decide(child, now: now) { return refusal }
            // Two children may conflict with each other: they have the same key but are different requests.
            if let key = child.key,
                keys.updateValue(key.fingerprint, forKey: key.name) ?? key.fingerprint != key.fingerprint
            {
                return .keyUsedForAnotherRequest(key: key.name)
            }
        }
        return nil
    }
}

struct FinishStatements: StatementGroup {
    let endJob = Statement(
        """
        UPDATE job
        SET    state = :state, tries = tries + 1, finished_ms = :now
        WHERE  id = :job
        AND    state = \(JobState.running)
        AND    attempt = :attempt
        """)
    let retryJob = Statement(
        """
        UPDATE job
        SET    state = :state, due_ms = :due, steady_ms = :steady, tries = tries + 1
        WHERE  id = :job
        AND    state = \(JobState.running)
        AND    attempt = :attempt
        """)
    /// The job keeps its place among the ready jobs.
    let returnJob = Statement(
        """
        UPDATE job
        SET    state = \(JobState.ready), rescues = rescues + :rescues
        WHERE  id = :job
        AND    state = \(JobState.running)
        AND    attempt = :attempt
        """)
    let insertAttempt = Statement(
        """
        INSERT INTO attempt (job_id, number, outcome, started_ms, ended_ms, code, message, detail, retry_ms,
                             connections, usage)
        VALUES (:job, :number, :outcome, :started, :ended, :code, :message, :detail, :retry, :connections, :usage)
        """)
    let insertValue = Statement(
        """
        INSERT INTO result (job_id, attempt, outcome, finished_ms, value)
        VALUES (:job, :attempt, \(Outcome.succeeded), :now, :value)
        """)
    let insertFailure = Statement(
        """
        INSERT INTO result (job_id, attempt, outcome, finished_ms, code, message, detail)
        VALUES (:job, :attempt, :outcome, :now, :code, :message, :detail)
        """)
}
