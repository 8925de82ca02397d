import Jobs
import SQLite

extension Writer {
    /// Records the end of an attempt and all its consequences (P4), if the attempt still has its lease (P3).
    ///
    /// - Parameter staged: The attempt's children, if there are so many that they are stored in parts.
    func finish(
        _ end: AttemptEnd, _ staged: StagedChildren? = nil, now: Timestamp
    ) throws(SQLiteError) -> FinishResult {
        let lease = end.lease
        guard let running = memory.running[lease.job], running.attempt == lease.attempt else { return .leaseLost }
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
                    lease, running, EndedAttempt(.succeeded), as: .succeeded(value), connections: end.connections,
                    now: now)
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
            next =
                running.isCancelRequested
                ? .final(.cancelled, .cancelledWhileRunning) : .again(after: wait, usesTry: true)
        case .cancelled:
            attempt = EndedAttempt(.cancelled, .cancelledWhileRunning)
            next = .final(.cancelled, .cancelledWhileRunning)
        case .interrupted:
            attempt = EndedAttempt(.interrupted, .interrupted)
            next =
                running.isCancelRequested
                ? .final(.cancelled, .cancelledWhileRunning) : .again(after: .zero, usesTry: false)
        }
        guard try close(lease, running, attempt, as: next, connections: end.connections, now: now) else {
            return .leaseLost
        }
        return .recorded(next.state)
    }

    struct EndedAttempt {
        let outcome: AttemptOutcome
        let failure: JobFailure?
        let retryAt: Timestamp?

        init(_ outcome: AttemptOutcome, _ failure: JobFailure? = nil, retryAt: Timestamp? = nil) {
            self.outcome = outcome
            self.failure = failure
            self.retryAt = retryAt
        }
    }

    /// The next step of a job whose attempt has ended.
    enum Next {
        case succeeded(JSONText)
        case final(Outcome, JobFailure)
        case again(after: Duration, usesTry: Bool, isRescue: Bool = false)

        var state: JobState {
            switch self {
            case .succeeded: .succeeded
            case .final(let outcome, _): outcome.state
            case .again(let wait, _, _): wait > .zero ? .scheduled : .ready
            }
        }
    }

    /// Ends the attempt of a running job.
    ///
    /// - Returns: False if the job's row no longer names this attempt. Nothing was changed then.
    func close(
        _ lease: Lease, _ running: RunningJob, _ attempt: EndedAttempt, as next: Next, connections: JSONText? = nil,
        now: Timestamp
    ) throws(SQLiteError) -> Bool {
        let job = lease.job
        let state = next.state
        var dueAt: Timestamp?
        switch next {
        case .succeeded, .final:
            finishing.endJob.bind(1, job.rawValue)
            finishing.endJob.bind(2, lease.attempt)
            finishing.endJob.bind(3, state.rawValue)
            finishing.endJob.bind(4, now.milliseconds)
            guard try finishing.endJob.runCountingChanges() == 1 else { return false }
        case .again(let wait, let usesTry, let isRescue):
            let at = now + wait
            finishing.returnJob.bind(1, job.rawValue)
            finishing.returnJob.bind(2, lease.attempt)
            finishing.returnJob.bind(3, state.rawValue)
            finishing.returnJob.bind(4, at.milliseconds)
            finishing.returnJob.bind(5, usesTry ? 1 : 0)
            finishing.returnJob.bind(6, isRescue ? 1 : 0)
            finishing.returnJob.bind(7, steady.now + wait.milliseconds)
            guard try finishing.returnJob.runCountingChanges() == 1 else { return false }
            if state == .scheduled {
                dueAt = at
                steady.notesWait(now: now)
            }
        }
        memory.running[job] = nil
        if !trials.isEmpty { trials.ended(job) }
        count(queue: running.queue, graph: running.graph, from: .running, to: state, now: now)
        note(job, graph: running.graph, state: state, attempt: lease.attempt, dueAt: dueAt)
        try recordAttempt(lease, running, attempt, connections, now: now)
        switch next {
        case .succeeded(let value):
            try recordResult(job, attempt: lease.attempt, value, now: now)
            try settleDependents(of: job, .succeeded, now: now)
        case .final(let outcome, let failure):
            try recordResult(job, attempt: lease.attempt, outcome, failure, now: now)
            try settleDependents(of: job, outcome, now: now)
        case .again:
            break
        }
        return true
    }

    private func recordAttempt(
        _ lease: Lease, _ running: RunningJob, _ attempt: EndedAttempt, _ connections: JSONText?, now: Timestamp
    ) throws(SQLiteError) {
        finishing.insertAttempt.bind(1, lease.job.rawValue)
        finishing.insertAttempt.bind(2, lease.attempt)
        finishing.insertAttempt.bind(3, attempt.outcome.rawValue)
        finishing.insertAttempt.bind(4, running.startedAt.milliseconds)
        finishing.insertAttempt.bind(5, now.milliseconds)
        try finishing.insertAttempt.bind(6, failure: attempt.failure)
        finishing.insertAttempt.bind(9, attempt.retryAt?.milliseconds)
        try finishing.insertAttempt.bind(10, text: connections?.bytes)
        try finishing.insertAttempt.run()
    }

    private func recordResult(
        _ job: JobID, attempt: Int, _ value: JSONText, now: Timestamp
    ) throws(SQLiteError) {
        finishing.insertValue.bind(1, job.rawValue)
        finishing.insertValue.bind(2, attempt)
        finishing.insertValue.bind(3, now.milliseconds)
        try finishing.insertValue.withBound(4, text: value.bytes) { () throws(SQLiteError) in
            try finishing.insertValue.run()
        }
    }

    /// - Parameter attempt: 0 if the job ended without an attempt.
    func recordResult(
        _ job: JobID, attempt: Int, _ outcome: Outcome, _ failure: JobFailure, now: Timestamp
    ) throws(SQLiteError) {
        finishing.insertFailure.bind(1, job.rawValue)
        finishing.insertFailure.bind(2, attempt)
        finishing.insertFailure.bind(3, outcome.rawValue)
        finishing.insertFailure.bind(4, now.milliseconds)
        try finishing.insertFailure.bind(5, failure: failure)
        try finishing.insertFailure.run()
    }

    private func refusal(of children: StagedChildren, now: Timestamp) throws(SQLiteError) -> EnqueueRefusal? {
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

extension JobFailure {
    static let cancelledWhileRunning = JobFailure(
        code: Code.cancelled, message: "It was cancelled while it was running. Enqueue it again if you still need it.")
    static let cancelledBeforeStart = JobFailure(
        code: Code.cancelled, message: "It was cancelled before it started. Enqueue it again if you still need it.")
    static let interrupted = JobFailure(
        code: Code.interrupted, message: "The daemon stopped; the job runs again when the daemon starts.")
}

struct FinishStatements: ~Copyable {
    static let endJobSQL: SQL = """
        UPDATE job
        SET    state = ?3, tries = tries + 1, finished_ms = ?4
        WHERE  id = ?1
        AND    state = 3
        AND    attempt = ?2
        """
    /// A job whose attempt used up no try keeps its place among the ready jobs.
    static let returnJobSQL: SQL = """
        UPDATE job
        SET    state = ?3, due_ms = iif(?5, ?4, due_ms), steady_ms = iif(?5, ?7, steady_ms), tries = tries + ?5,
               rescues = rescues + ?6
        WHERE  id = ?1
        AND    state = 3
        AND    attempt = ?2
        """
    static let insertAttemptSQL: SQL = """
        INSERT INTO attempt (job_id, number, outcome, started_ms, ended_ms, code, message, detail, retry_ms, connections)
        VALUES (:job, :number, :outcome, :started, :ended, :code, :message, :detail, :retry, :connections)
        """
    static let insertValueSQL: SQL = """
        INSERT INTO result (job_id, attempt, outcome, finished_ms, value)
        VALUES (:job, :attempt, 4, :now, :value)
        """
    static let insertFailureSQL: SQL = """
        INSERT INTO result (job_id, attempt, outcome, finished_ms, code, message, detail)
        VALUES (:job, :attempt, :outcome, :now, :code, :message, :detail)
        """

    let endJob: Statement
    let returnJob: Statement
    let insertAttempt: Statement
    let insertValue: Statement
    let insertFailure: Statement

    init(_ connection: Connection) {
        endJob = connection.prepare(Self.endJobSQL)
        returnJob = connection.prepare(Self.returnJobSQL)
        insertAttempt = connection.prepare(Self.insertAttemptSQL)
        insertValue = connection.prepare(Self.insertValueSQL)
        insertFailure = connection.prepare(Self.insertFailureSQL)
    }
}
