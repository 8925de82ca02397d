import Jobs
import SQLite

extension Writer {
    /// Ends every running attempt as crashed (P6), and puts the jobs on trial that were running in several crashes in a
    /// row (P14).
    func rescueOrphans(maxRescues: Int, now: Timestamp) throws(SQLiteError) -> RescueReport {
        var report = RescueReport(returned: [], failed: [], cancelled: [])
        var suspects: [(CrashTrials.Trial, Timestamp)] = []
        let orphans = memory.running.sorted { $0.key < $1.key }
        let others = orphans.count - 1
        for (job, running) in orphans {
            let crashes = try earlierCrashes(of: job)
            let next: Next
            if running.isCancelRequested {
                next = .final(.cancelled, .cancelledWhileRunning)
            } else if others == 0, crashes.alone >= maxRescues {
                next = .final(.failed, .crashed(times: crashes.alone + 1))
            } else {
                next = .again(after: .zero, usesTry: false, isRescue: true)
            }
            let lease = Lease(job: job, attempt: running.attempt)
            let attempt = EndedAttempt(.crashed, .crashed(beside: others))
            guard try close(lease, running, attempt, as: next, now: now) else { continue }
            switch next {
            case .final(.cancelled, _): report.cancelled.append(job)
            case .final: report.failed.append(job)
            default:
                report.returned.append(job)
                if let trial = CrashTrials.Trial(of: job, afterCrashes: crashes.inARow + 1) {
                    report.onTrial.append(job)
                    suspects.append((trial, running.startedAt))
                }
            }
        }
        trials = CrashTrials(suspects)
        return report
    }

    /// The numbers of the job's earlier crashes: in a row up to now, and with no other job running.
    private func earlierCrashes(of job: JobID) throws(SQLiteError) -> (inARow: Int, alone: Int) {
        rescuing.crashes.bind(1, job.rawValue)
        defer { rescuing.crashes.reset() }
        guard try rescuing.crashes.step() else { return (0, 0) }
        return (Int(rescuing.crashes.integer(0)), Int(rescuing.crashes.integer(1)))
    }
}

extension JobFailure {
    /// The failure of a crashed attempt; ``RescueStatements/crashesSQL`` reads its detail.
    static func crashed(beside others: Int) -> JobFailure {
        let company =
            others == 0
            ? "it ran alone" : others == 1 ? "it ran beside another job" : "it ran beside \(others) other jobs"
        return JobFailure(
            code: Code.crashed, message: "The daemon ended while \(company); see the journal from that time.",
            detail: JSONText(trusted: Array("{\"beside\":\(others)}".utf8)))
    }

    static func crashed(times: Int) -> JobFailure {
        JobFailure(
            code: Code.crashed,
            message: "The daemon ended \(times) times while this job alone was running; see the journal, then retry it."
        )
    }
}

struct RescueStatements: ~Copyable {
    /// A daemon stop (outcome 4) between two crashes (5) does not end the row of crashes; any other outcome does.
    static let crashesSQL: StaticString = """
        SELECT count(*) FILTER (WHERE number > (
                   SELECT coalesce(max(number), 0)
                   FROM   attempt
                   WHERE  job_id = ?1
                   AND    outcome < 4)),
               count(*) FILTER (WHERE detail ->> 'beside' = 0)
        FROM   attempt
        WHERE  job_id = ?1
        AND    outcome = 5
        """

    let crashes: Statement

    init(_ connection: Connection) {
        crashes = connection.prepare(Self.crashesSQL)
    }
}
