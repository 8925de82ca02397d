import Jobs
import Synchronization

extension JobRunner {
    /// Saves a checkpoint of a running attempt.
    ///
    /// - Parameter answer: Called once, when the checkpoint is durable or refused.
    func save(_ value: JSONText, of attempt: RunningAttempt, _ answer: @escaping SaveAnswer) {
        guard value.bytes.count <= Checkpoint.maxBytes else {
            return answer(.failure(.tooLarge(bytes: value.bytes.count)))
        }
        switch attempt.saves.withLock({ $0.add(value, answer) }) {
        case .save(let value): enqueue(SaveLine.Save(attempt: attempt, value: value))
        case .wait: break
        case .refuse: answer(.failure(.leaseLost))
        }
    }

    /// Saves a checkpoint of an attempt in this process, and waits until it is durable.
    func save(_ value: JSONText, of attempt: RunningAttempt) async throws(CheckpointError) {
        try await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, CheckpointError>, Never>) in
            save(value, of: attempt) { continuation.resume(returning: $0) }
        }.get()
    }

    private func enqueue(_ save: SaveLine.Save) {
        // Nothing awaits this task: the ends of the attempts that failed wait for its answers.
        if saves.withLock({ $0.add(save) }) { Task(priority: .medium) { await storeSaves() } }
    }

    private func storeSaves() async {
        while let batch = saves.withLock({ $0.takeBatch() }) {
            for (save, result) in zip(batch, await results(of: batch)) { answered(save.attempt, result) }
        }
    }

    private func results(of batch: [SaveLine.Save]) async -> [Result<Void, CheckpointError>] {
        do throws(StoreError) {
            let results = try await store(batch)
            return results.map { $0 == .saved ? .success(()) : .failure(.leaseLost) }
        } catch {
            if !error.isPassing { handle(.storeFailed(error)) }
            return batch.map { _ in .failure(.notSaved(reason: error.description)) }
        }
    }

    /// Saves a batch. If the answer is lost, it saves the batch once more: its values are the newest of their attempts, so
    /// that changes nothing if they are stored already.
    private func store(_ batch: [SaveLine.Save]) async throws(StoreError) -> [SaveResult] {
        let requests = batch.map(\.request)
        let holder = batch[0].attempt.holder
        do throws(StoreError) {
            return try await store.save(requests, by: holder, now: wallClock.now)
        } catch {
            guard case .unanswered = error else { throw error }
            return try await store.save(requests, by: holder, now: wallClock.now)
        }
    }

    /// Drops the checkpoint that waits to be saved, because the attempt no longer needs it.
    func dropWaitingSave(of attempt: RunningAttempt) {
        for answer in attempt.saves.withLock({ $0.closeAndDropWaiting() }) { answer(.failure(.leaseLost)) }
    }

    private func answered(_ attempt: RunningAttempt, _ result: Result<Void, CheckpointError>) {
        var dropped: [SaveAnswer] = []
        if case .failure(.leaseLost) = result { dropped = attempt.saves.withLock { $0.closeAndDropWaiting() } }
        let (answers, next, end) = attempt.saves.withLock { $0.answered() }
        for answer in answers + dropped { answer(result) }
        if let next { enqueue(SaveLine.Save(attempt: attempt, value: next)) }
        end?()
    }
}
