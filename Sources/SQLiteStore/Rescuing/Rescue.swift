import Jobs
import SQLite

extension Writer {
    /// Ends every running attempt (P6). Puts on trial the jobs that were running in several crashes in a row (P14).
    func rescueOrphans(
        maxRescues: Int, after lastEnd: LastEnd, now: Timestamp
    ) throws(SQLiteError) -> RescueReport {
        var report = RescueReport(returned: [], failed: [], cancelled: [])
        var suspects: [(CrashTrials.Trial, Timestamp)] = []
        let orphans = memory.running.sorted { $0.key < $1.key }
        let company = Company(others: orphans.count - 1, abandoned: lock.marks.abandoned)
        let lastEnd = lastEnd == .unexplained && steady.isOfNewBoot ? .machineRestarted : lastEnd
        for (job, running) in orphans {
            var crashes = try earlierCrashes(of: job)
            crashes.count(lastEnd, isAlone: company.isNone)
            let trial = CrashTrials.Trial(of: job, afterCrashes: crashes.inARow)
            let next: Next
            if running.isCancelRequested {
                next = .final(.cancelled, .cancelledWhileRunning)
            } else if case .unrelated = lastEnd {
                next = .rescue
            } else if company.isNone, crashes.weight > maxRescues {
                next = .final(.failed, .crashed(times: crashes.alone + crashes.unexplainedAlone))
            } else {
                next = .rescue
            }
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
    private func earlierCrashes(of job: JobID) throws(SQLiteError) -> Crashes {
        try rescuing.crashes.first([.job <- job]) {
            Crashes(
                inARow: Int($0.integer(0)), alone: Int($0.integer(1)), unexplainedAlone: Int($0.integer(2)))
        } ?? Crashes()
    }
}

/// The other code that was running when the process ended.
private struct Company {
    var others: Int
    /// The number of abandoned attempts, whose code was still running (``JobStore/noteAbandoned(_:)``).
    var abandoned: Int

    var isNone: Bool { others + abandoned == 0 }

    var text: String {
        if isNone { return "it ran alone" }
        if others == 0 { return "it ran at the same time as the code of an abandoned attempt" }
        return others == 1
            ? "it ran at the same time as another job" : "it ran at the same time as \(others) other jobs"
    }
}

private struct Crashes {
    var inARow = 0
    /// Crashes during which the job ran alone.
    var alone = 0
    /// Unexplained ends of the process during which the job ran alone.
    var unexplainedAlone = 0

    mutating func count(_ end: LastEnd, isAlone: Bool) {
        switch end {
        case .unrelated: return
        case .crashed: if isAlone { alone += 1 }
        case .unexplained: if isAlone { unexplainedAlone += 1 }
        }
        inARow += 1
    }

    /// The number of crashes that count against the job. Unexplained ends count less (``LastEnd/unexplainedPerCrash``).
    var weight: Int { alone + unexplainedAlone / LastEnd.unexplainedPerCrash }
}

extension LastEnd {
    fileprivate static let machineRestarted = LastEnd.unrelated(reason: "The machine was restarted")
}

extension Writer.EndedAttempt {
    fileprivate init(_ end: LastEnd, _ company: Company, isOnTrial: Bool) {
        let beside = company.others + company.abandoned
        let trial =
            isOnTrial ? " It was running during several crashes, so it first runs separately from other jobs." : ""
        switch end {
        case .unrelated(let reason):
            self.init(.interrupted, JobFailure(code: JobFailure.Code.interrupted, message: reason + " while it ran."))
        // ``RescueStatements/crashes`` counts crashes by the fields of this detail.
        case .crashed(let cause):
            let word = cause.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
            self.init(
                .crashed,
                JobFailure(
                    code: JobFailure.Code.crashed,
                    message:
                        "The daemon crashed (\(cause)) while \(company.text); see the journal from that time.\(trial)",
                    detail: JSONText(trusted: Array("{\"beside\":\(beside),\"cause\":\"\(word)\"}".utf8))))
        case .unexplained:
            self.init(
                .crashed,
                JobFailure(
                    code: JobFailure.Code.crashed,
                    message: "The daemon ended while \(company.text); see the journal from that time.\(trial)",
                    detail: JSONText(trusted: Array("{\"beside\":\(beside)}".utf8))))
        }
    }
}

extension JobFailure {
    static func crashed(times: Int) -> JobFailure {
        JobFailure(
            code: Code.crashed,
            message: "The daemon ended \(times) times while only this job was running; see the journal, then retry it."
        )
    }
}

struct RescueStatements: StatementGroup {
    /// A stop of the daemon does not break a run of crashes; any other outcome does.
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
