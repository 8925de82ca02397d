import Jobs
import Synchronization
import WorkerProtocol

extension WorkerHost {
    /// Passes a checkpoint of a running attempt on, and sends the answer to the process, unless the attempt has ended.
    func save(_ value: JSONText, _ id: Int, of lease: Lease, in worker: Dispatcher.WorkerID) {
        let attempt: HostedAttempt?
        do throws(WorkerProtocolProblem) {
            attempt = try core.withLock { (core) throws(WorkerProtocolProblem) in try core.beginSave(lease, worker) }
        } catch {
            return violated(worker, error)
        }
        attempt?.onCheckpoint(value) { [weak self] result in
            let message: DaemonMessage =
                switch result {
                case .success: .checkpointed(lease, id: id)
                case .failure(let error): .checkpointRefused(lease, id: id, CheckpointRefusal(error))
                }
            self?.answer(message, to: lease, in: worker)
        }
    }

    private func answer(_ message: DaemonMessage, to lease: Lease, in worker: Dispatcher.WorkerID) {
        answer(message, to: worker) { core in
            guard core.dispatcher.worker(of: lease) == worker else { return false }
            core.unansweredSaves[lease]? -= 1
            return true
        }
    }

    /// Answers a message of a process, which is killed if it does not read its answers.
    ///
    /// - Parameter isWanted: Whether to send the answer.
    func answer(
        _ message: DaemonMessage, to worker: Dispatcher.WorkerID, if isWanted: (inout Core) -> Bool = { _ in true }
    ) {
        let (process, isRead) = core.withLock { core -> (WorkerProcess?, Bool) in
            guard isWanted(&core), let process = core.processes[worker] else { return (nil, true) }
            return (process, process.enqueue(answer: message))
        }
        process?.flush()
        if !isRead {
            violated(
                worker,
                WorkerProtocolProblem(
                    "it does not read the answers to its messages, of which more than \(WorkerProcess.maxUnreadAnswers) bytes wait"
                ))
        }
    }
}

extension WorkerHost.Core {
    /// Counts a checkpoint that a process has sent.
    ///
    /// - Returns: The attempt; nil if the process is being killed for breaking the protocol.
    fileprivate mutating func beginSave(
        _ lease: Lease, _ worker: Dispatcher.WorkerID
    ) throws(WorkerProtocolProblem) -> HostedAttempt? {
        if faults[worker]?.isOwn == true { return nil }
        guard dispatcher.worker(of: lease) == worker, let attempt = attempts[lease] else {
            throw .foreign(lease, "a checkpoint")
        }
        // If the process died now, the same attempt would run again and not get the checkpoint.
        guard dispatcher.hasBegun(lease, in: worker) else {
            // The death of the process counts as the attempt's crash. Otherwise a worker that does this each time would run
            // its job forever. It is charged for the crash only if no other attempt in the process can have sent this.
            dispatcher.noteUnreported(lease, in: worker)
            throw WorkerProtocolProblem(
                "it sent a checkpoint of attempt \(lease.attempt) of job \(lease.job) before started")
        }
        let limit = WorkerProtocol.maxUnansweredCheckpoints
        guard unansweredSaves[lease, default: 0] < limit else {
            throw WorkerProtocolProblem(
                "it sent more than \(limit) checkpoints of attempt \(lease.attempt) of job \(lease.job) without waiting for an answer"
            )
        }
        unansweredSaves[lease, default: 0] += 1
        return attempt
    }

    /// Forgets an attempt that has ended.
    mutating func takeAttempt(_ lease: Lease) -> HostedAttempt? {
        unansweredSaves[lease] = nil
        return attempts.removeValue(forKey: lease)
    }
}

extension WorkerProtocolProblem {
    /// A process sent a message about an attempt that does not run in it.
    static func foreign(_ lease: Lease, _ message: String) -> WorkerProtocolProblem {
        WorkerProtocolProblem(
            "it sent \(message) of attempt \(lease.attempt) of job \(lease.job), which does not run in it")
    }
}

extension CheckpointRefusal {
    fileprivate init(_ error: CheckpointError) {
        switch error {
        case .tooLarge: self.init(.tooLarge, message: error.description)
        case .leaseLost: self.init(.leaseLost, message: error.description)
        case .notSaved(let reason): self.init(.notSaved, message: reason)
        // Values from a process are valid JSON.
        case .invalid: self.init(.notSaved, message: error.description)
        }
    }
}
