import Jobs

extension Crash {
    /// Describes the death of a worker's process while an attempt ran in it.
    ///
    /// - Parameter fault: The fault for which the daemon killed it; nil if it ended by itself.
    init(of program: String, _ exit: WorkerExit, fault: WorkerFault?, pid: Int32, others: Int, lines: [String]) {
        let company =
            switch others {
            case 0: "no other job ran in it"
            case 1: "another job ran in it"
            default: "\(others) other jobs ran in it"
            }
        let whereLinesAre = lines.isEmpty ? "" : " Its last log lines are in the detail."
        let isOwnFault = fault?.isOwn ?? false
        let detail = JSONWriter.text {
            $0.object { object in
                object.field("worker", program)
                object.field("process", Int64(pid))
                object.field("cause", isOwnFault ? "protocol" : exit.cause)
                if !lines.isEmpty { object.field("log", lines) { $1.string($0) } }
            }
        }
        self.init(
            failure: JobFailure(
                code: JobFailure.Code.crashed,
                message:
                    "While the job ran, the process of worker \(program) \(fault?.clause ?? exit.clause); \(company).\(whereLinesAre)",
                detail: detail),
            others: others, isExplained: isOwnFault || exit.isExplained)
    }
}

/// The fault for which the daemon kills a process of a worker.
struct WorkerFault: Sendable, Hashable {
    /// The fault as a clause that follows the program's name.
    let clause: String
    /// Whether the process itself did it, such as breaking the protocol. Silence can also have a cause outside of it.
    let isOwn: Bool

    init(_ clause: String, isOwn: Bool = true) {
        self.clause = clause
        self.isOwn = isOwn
    }
}

extension Dispatcher.KillReason {
    /// The fault of the process; nil if it is recorded elsewhere, or if the process is not at fault.
    var fault: WorkerFault? {
        switch self {
        case .notIntroduced(let limit): WorkerFault("did not introduce itself within \(limit.human)", isOwn: false)
        case .hung(let limit): WorkerFault("gave no sign of life for \(limit.human)", isOwn: false)
        case .beganNothing(let limit):
            WorkerFault("did not report any of its jobs as started within \(limit.human)", isOwn: false)
        case .abandonedAttempt, .violation, .didNotExit: nil
        }
    }

    /// The reason as a clause for the log.
    var text: String {
        switch self {
        case .notIntroduced(let limit): "it did not introduce itself within \(limit.human)"
        case .abandonedAttempt(let lease, let grace):
            "attempt \(lease.attempt) of job \(lease.job) did not end within \(grace.human) of the message \"stop\""
        case .hung(let limit): "it gave no sign of life for \(limit.human)"
        case .beganNothing(let limit): "it did not report any of its jobs as started within \(limit.human)"
        case .violation: "it broke the protocol"
        case .didNotExit(let limit): "it did not exit within \(limit.human) of the message \"drain\""
        }
    }
}
