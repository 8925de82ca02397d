import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Ends the attempts of all other holders (P6, H2). Puts on trial the jobs that were running in several crashes in a
    /// row (P14).
    func rescue(
        _ request: RescueRequest, by holder: HolderID, now: Timestamp
    ) throws(SQLiteError) -> RescueReport {
        var report = RescueReport(returned: [], failed: [], cancelled: [])
        var suspects: [(CrashTrials.Trial, Timestamp)] = []
        // A holder whose life has ended must not return the jobs of the one after it.
        guard unstored.holder == holder else { return report }
        let orphans = memory.running.filter { $0.value.holder != holder }.sorted { $0.key < $1.key }
        if orphans.isEmpty { return report }
        let company = Company(others: orphans.count - 1, abandoned: lock.marks.abandoned)
        let lastEnd =
            request.lastEnd == .unexplained && steady.isOfNewBoot ? .machineRestarted : request.lastEnd
        for (job, running) in orphans {
            var crashes = try earlierCrashes(of: job)
            var failure: JobFailure?
            if lastEnd.isCrash {
                failure = crashes.add(
                    of: job, isExplained: lastEnd != .unexplained, isAlone: company.isNone,
                    maxCrashes: request.maxRescues,
                    end: EndedAttempt(lastEnd, company, isOnTrial: false).failure)
            }
            let trial = CrashTrials.Trial(of: job, afterCrashes: crashes.inARow)
            let next = Next(afterCrashOf: running, failure: failure)
            let lease = Lease(job: job, attempt: running.attempt)
            let attempt = EndedAttempt(lastEnd, company, isOnTrial: trial != nil && next.state == .ready)
            guard try close(lease, running, attempt, as: next, now: now) else { continue }
            switch next {
            case .final(.cancelled, _): report.cancelled.append(job)
            case .final: report.failed.append(job)
            default:
                report.returned.append(job)
                if let trial {
                    report.onTrial.append(job)
                    suspects.append((trial, running.startedAt))
                }
            }
        }
        trials = CrashTrials(suspects)
        return report
    }

    /// The time on the current wall clock at which the trials that hold up other jobs end; nil if no jobs are held up.
    func trialsEndAt(now: Timestamp) -> Timestamp? {
        if trials.isEmpty { return nil }
        return trials.holdsOthers(now: steady.moment).map { now + ($0 - steady.moment) }
    }

    func reportTrials(now: Timestamp) -> CrashTrials.Report? {
        var report = trials.report(now: steady.moment)
        report?.endsAt = trialsEndAt(now: now)
        return report
    }

    /// Counts the crashes in which earlier attempts of the job ended.
    func earlierCrashes(of job: JobID) throws(SQLiteError) -> CrashCount {
        try rescuing.crashes.first([.job <- job]) {
            CrashCount(
                inARow: Int($0.integer(0)), alone: Int($0.integer(1)), unexplainedAlone: Int($0.integer(2)))
        } ?? CrashCount()
    }
}

extension Writer.Next {
    /// The next step of a job whose process has ended.
    ///
    /// - Parameter failure: The failure with which the job ends; nil if it may run again.
    init(afterCrashOf running: RunningJob, failure: JobFailure?) {
        if running.isCancelRequested {
            self = .final(.cancelled, .cancelledWhileRunning)
        } else if let failure {
            self = .final(.failed, failure)
        } else {
            self = .rescue
        }
    }
}

struct RescueStatements: StatementGroup {
    /// Counts crashes by the fields that ``JobFailure/counted(beside:cause:)`` adds. A stop of the daemon does not break a
    /// run of crashes; any other outcome does.
    let crashes = Statement(
        """
        SELECT count(*) FILTER (WHERE number > (
                   SELECT coalesce(max(number), 0)
                   FROM   attempt
                   WHERE  job_id = :job
                   AND    outcome < \(AttemptOutcome.interrupted))),
               count(*) FILTER (WHERE detail ->> 'beside' = 0 AND detail ->> 'cause' IS NOT NULL),
               count(*) FILTER (WHERE detail ->> 'beside' = 0 AND detail ->> 'cause' IS NULL)
        FROM   attempt
        WHERE  job_id = :job
        AND    outcome = \(AttemptOutcome.crashed)
        """)
}
