import Jobs
import Synchronization
import WorkerProtocol

extension WorkerAttempt {
    /// Sends a checkpoint, unless one is on its way, and waits until the daemon has saved it.
    func save(_ value: JSONText) async throws(CheckpointError) {
        guard savesCheckpoints else {
            throw .notSaved(reason: "This release of halyardd saves no checkpoints; install the worker's release.")
        }
        try await withCheckedContinuation { (waiter: CheckedContinuation<Result<Void, CheckpointError>, Never>) in
            let (step, mustWrite) = state.withLock { state in
                let step = state.saves.add(value, waiter)
                guard case .save(let value) = step else { return (step, false) }
                return (step, writer.enqueue(state.line(forSaving: value, lease)))
            }
            if step == .refuse { waiter.resume(returning: .failure(.leaseLost)) }
            if mustWrite { writer.write() }
        }.get()
    }

    /// The daemon has answered a checkpoint. Sends the newest of those that wait.
    ///
    /// - Throws: ``WorkerProtocolProblem`` if no checkpoint with this number is on its way.
    func saveAnswered(_ id: Int, _ refusal: CheckpointRefusal?) throws(WorkerProtocolProblem) {
        let answer = state.withLock { state -> (waiters: [State.SaveWaiter], mustWrite: Bool)? in
            if state.isOver { return ([], false) }
            guard !state.saves.isIdle, state.lastSave == id else { return nil }
            let (waiters, next) = state.saves.answered()
            guard let next else { return (waiters, false) }
            return (waiters, writer.enqueue(state.line(forSaving: next, lease)))
        }
        guard let answer else {
            throw WorkerProtocolProblem(
                "attempt \(lease.attempt) of job \(lease.job) did not send the checkpoint \(id)")
        }
        for waiter in answer.waiters { waiter.resume(returning: refusal.map { .failure($0.error) } ?? .success(())) }
        if answer.mustWrite { writer.write() }
    }

    /// The daemon is gone, so that no checkpoint is answered any more.
    func loseDaemon() {
        let waiters = state.withLock { state in
            let dropped = state.saves.closeAndDropWaiting()?.waiters ?? []
            return state.saves.answered().waiters + dropped
        }
        for waiter in waiters { waiter.resume(returning: .failure(.notSaved(reason: "The daemon has ended."))) }
    }
}

extension WorkerAttempt.State {
    typealias SaveWaiter = CheckedContinuation<Result<Void, CheckpointError>, Never>

    fileprivate mutating func line(forSaving value: JSONText, _ lease: Lease) -> [UInt8] {
        lastSave += 1
        return WorkerMessage.checkpoint(lease, id: lastSave, value).line
    }

    /// Takes what is left when the attempt ends: everybody who still waits, and the message for the value that was not
    /// sent.
    mutating func takeUnsaved(_ lease: Lease) -> (waiters: [SaveWaiter], line: [UInt8]) {
        if saves.isIdle {
            saves.close()
            return ([], [])
        }
        let unsent = saves.closeAndDropWaiting()
        let line = unsent.map { self.line(forSaving: $0.value, lease) } ?? []
        return (saves.answered().waiters + (unsent?.waiters ?? []), line)
    }
}

extension CheckpointRefusal {
    fileprivate var error: CheckpointError {
        switch reason {
        case .leaseLost: .leaseLost
        // The size was checked before the checkpoint was sent, so this daemon has another limit.
        case .tooLarge, .notSaved: .notSaved(reason: message)
        }
    }
}
