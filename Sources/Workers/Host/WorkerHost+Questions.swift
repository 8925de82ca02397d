import Dispatch
import Jobs
import OperationTypes
import Synchronization
import WorkerProtocol

extension WorkerHost {
    /// The longest time that a check of inputs may take. Inputs are accepted if no process answers in time, since the
    /// run checks them again.
    private static let checkLimit = DispatchTimeInterval.seconds(2)

    public func refusals(of inputs: [PlannedInput]) async -> [InputRefusal?] {
        let none = [InputRefusal?](repeating: nil, count: inputs.count)
        let checking = core.withLock { core in
            Set((core.announcement?.kinds ?? []).filter(\.checksInputs).map(\.description.name))
        }
        let checked = inputs.indices.filter { checking.contains(inputs[$0].kind) }
        if checked.isEmpty { return none }
        let limit = DispatchTime.now() + Self.checkLimit
        var refusals = none
        var rest = checked[...]
        while !rest.isEmpty {
            var bytes = 0
            // The inputs of one message fit into a line.
            let together = rest.prefix { index in
                defer { bytes += inputs[index].input.bytes.count + 100 }
                return bytes == 0 || bytes + inputs[index].input.bytes.count < WorkerProtocol.maxLineBytes / 2
            }
            guard let answer = await ask({ .check(id: $0, together.map { inputs[$0] }) }, until: limit),
                case .checked(let found) = answer, found.count == together.count
            else { break }
            for (index, refusal) in zip(together, found) { refusals[index] = refusal }
            rest = rest.dropFirst(together.count)
        }
        return refusals
    }

    public func cleanUp(
        asking state: @escaping @Sendable (JobID, _ kind: String) async throws(StoreError) -> JobState?
    ) async -> Bool {
        guard core.withLock({ $0.announcement?.kinds.contains(where: \.cleansUp) == true }) else { return false }
        core.withLock { $0.jobStates = state }
        guard let answer = await ask({ .cleanUp(id: $0) }, until: nil), case .cleanedUp(let isLeft) = answer else {
            return true
        }
        return isLeft
    }

    func answerJobState(_ id: Int, _ kind: String, _ job: JobID, to worker: Dispatcher.WorkerID) {
        guard let state = core.withLock(\.jobStates) else { return }
        // Nothing awaits this task: it ends with a message.
        Task {
            let answer: JobState?
            do throws(StoreError) {
                answer = try await state(job, kind)
            } catch {
                // An unknown state must not look like a job that is gone, so the process waits until the daemon ends.
                return
            }
            self.answer(.jobState(id: id, answer), to: worker)
        }
    }

    /// Sends a question to a process, which is launched if none runs.
    ///
    /// - Returns: Nil if the process ended or the time is over.
    private func ask(
        _ message: @Sendable (Int) -> DaemonMessage, until limit: DispatchTime?
    ) async -> Questions.Answer? {
        if core.withLock({ $0.dispatcher.readyWorker }) == nil {
            do throws(WorkerProblem) { _ = try await introduce() } catch { return nil }
        }
        let asked = core.withLock { core -> (id: Int, waiter: Waiter<Questions.Answer>, process: WorkerProcess?)? in
            guard let worker = core.dispatcher.readyWorker else { return nil }
            let (id, waiter) = core.questions.ask(worker)
            core.processes[worker]?.enqueue(message(id))
            return (id, waiter, core.processes[worker])
        }
        guard let asked else { return nil }
        asked.process?.flush()
        if let limit {
            DispatchQueue.global().asyncAfter(deadline: limit) { [weak self] in
                asked.waiter.end(with: nil)
                self?.core.withLock { $0.questions.giveUp(asked.id) }
            }
        }
        return await asked.waiter.uncancellableOutcome()
    }
}
