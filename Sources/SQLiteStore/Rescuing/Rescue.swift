import Jobs
import SQLite

extension Writer {
    /// Ends every running attempt as crashed (P6).
    func rescueOrphans(maxRescues: Int, now: Timestamp) throws(SQLiteError) -> RescueReport {
        var report = RescueReport(returned: [], failed: [], cancelled: [])
        for (job, running) in memory.running.sorted(by: { $0.key < $1.key }) {
            rescuing.rescues.bind(1, job.rawValue)
            guard try rescuing.rescues.step() else { continue }
            let rescues = Int(rescuing.rescues.integer(0))
            rescuing.rescues.reset()
            let next: Next
            if running.isCancelRequested {
                next = .final(.cancelled, .cancelledWhileRunning)
            } else if rescues >= maxRescues {
                next = .final(.failed, .crashed(rescues: rescues))
            } else {
                next = .again(at: now, usesTry: false, isRescue: true)
            }
            let lease = Lease(job: job, attempt: running.attempt)
            guard try close(lease, running, EndedAttempt(.crashed, .crashed), as: next, now: now) else { continue }
            switch next {
            case .final(.cancelled, _): report.cancelled.append(job)
            case .final: report.failed.append(job)
            default: report.returned.append(job)
            }
        }
        return report
    }
}

extension JobFailure {
    static let crashed = JobFailure(
        code: Code.crashed, message: "The daemon ended while it ran; see the journal of that time.")

    static func crashed(rescues: Int) -> JobFailure {
        JobFailure(
            code: Code.crashed,
            message: "The daemon ended each of the \(rescues + 1) times it ran; see the journal, then retry it.")
    }
}

struct RescueStatements: ~Copyable {
    static let rescuesSQL: StaticString = "SELECT rescues FROM job WHERE id = :job"

    let rescues: Statement

    init(_ connection: Connection) {
        rescues = connection.prepare(Self.rescuesSQL)
    }
}
