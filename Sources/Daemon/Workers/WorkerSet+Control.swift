import ControlProtocol
import Jobs
import Workers

/// The answers of the control verbs about workers.
extension WorkerSet {
    /// The programs and their processes, for people and programs.
    func records(now: Timestamp) -> [WorkerRecord] {
        var records = snapshots.map { worker, problem in WorkerRecord(worker, problem: problem, now: now) }
        for check in checks.all {
            let program = check.program
            let index = records.firstIndex { $0.name == program.name } ?? records.endIndex
            if index == records.endIndex {
                records.append(
                    WorkerRecord(
                        name: program.name, processLimit: program.processes, attemptLimit: program.attempts))
            }
            records[index].checkedUntil = check.until
        }
        return records
            + removed.map { worker in
                var record = WorkerRecord(worker, problem: nil, now: now)
                record.isRemoved = true
                return record
            }
    }

    /// The reason why the program of a kind cannot begin an attempt now; nil if it can.
    func wait(of kind: String, isSuspect: Bool) -> WaitExplanation.Reason? {
        guard let host = registry?[kind]?.host else { return nil }
        if let problem = host.problem { return .worker(problem: problem) }
        guard let host = host as? WorkerHost else { return nil }
        let worker = host.snapshot
        if isSuspect { return host.roomForSuspects == 0 ? .suspect(worker: worker.program.name) : nil }
        guard host.room == 0 else { return nil }
        let running = worker.processes.reduce(worker.waiting) { $0 + ($1.isProbe ? 0 : $1.attempts) }
        return .workerLimit(
            worker: worker.program.name, running: running, limit: worker.program.processes * worker.program.attempts)
    }
}

extension WorkerRecord {
    fileprivate init(_ worker: WorkerSnapshot, problem: String?, now: Timestamp) {
        self.init(
            name: worker.program.name, version: worker.version, kinds: (worker.kinds ?? []).map(\.name).sorted(),
            processLimit: worker.program.processes, attemptLimit: worker.program.attempts,
            processes: worker.processes.map { process in
                .init(
                    pid: process.pid, state: .init(process.phase), startedAt: now + (.zero - process.age),
                    attempts: process.attempts, isProbe: process.isProbe)
            },
            waiting: worker.waiting, crashes: worker.crashes, restsUntil: worker.rest.map { now + $0 },
            problem: problem)
    }
}

extension WorkerRecord.Process.State {
    fileprivate init(_ phase: WorkerSnapshot.Process.Phase) {
        switch phase {
        case .starting: self = .starting
        case .ready: self = .ready
        case .ending: self = .ending
        }
    }
}
