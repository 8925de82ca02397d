import Jobs
import Synchronization
import WorkerProtocol

extension WorkerHost {
    /// Passes a checkpoint of a running attempt on, and sends the answer to the process, unless the attempt has ended.
    func save(_ value: JSONText, _ id: Int, of lease: Lease, in worker: Dispatcher.WorkerID) {
        guard let attempt = attempt(lease, in: worker) else {
            return violated(
                worker,
                WorkerProtocolProblem(
                    "it sent a checkpoint of attempt \(lease.attempt) of job \(lease.job), which it does not run"))
        }
        attempt.onCheckpoint(value) { [weak self] result in
            let message: DaemonMessage =
                switch result {
                case .success: .checkpointed(lease, id: id)
                case .failure(let error): .checkpointRefused(lease, id: id, CheckpointRefusal(error))
                }
            self?.answer(message, to: lease, in: worker)
        }
    }

    private func answer(_ message: DaemonMessage, to lease: Lease, in worker: Dispatcher.WorkerID) {
        let process = core.withLock { core -> WorkerProcess? in
            guard core.dispatcher.worker(of: lease) == worker else { return nil }
            core.processes[worker]?.enqueue(message)
            return core.processes[worker]
        }
        process?.flush()
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
