import ControlProtocol
import Jobs

extension StoreControl {
    /// Passes graphs to the store. If the store's answer is lost, asks again for the graphs that have keys, which are not
    /// enqueued twice.
    ///
    /// - Returns: One answer for each graph.
    func submit(_ graphs: [NewGraph], now moment: Timestamp) async throws(ControlProblem) -> [SubmissionAnswer] {
        let lost: ControlProblem
        do throws(StoreError) {
            return try await store.enqueue(graphs, now: moment).map(SubmissionAnswer.init)
        } catch {
            guard case .unanswered = error, graphs.contains(where: { $0.key != nil }) else {
                throw ControlProblem(error)
            }
            lost = ControlProblem(error)
        }
        var outcomes = try await repeated(graphs.filter { $0.key != nil }, now: moment, insteadOf: lost)[...]
        // It is unknown whether the graphs without keys are stored.
        return graphs.map { $0.key == nil ? .refused(lost) : SubmissionAnswer(outcomes.removeFirst()) }
    }

    private func repeated(
        _ graphs: [NewGraph], now moment: Timestamp, insteadOf lost: ControlProblem
    ) async throws(ControlProblem) -> [EnqueueOutcome] {
        for _ in 1...Self.maxRepeats {
            do throws(StoreError) {
                let outcomes = try await store.enqueue(graphs, now: moment)
                // The store did not report jobs whose commit it does not know of.
                for case .duplicate(let receipt) in outcomes { try await spoolUsers?.learn(receipt.jobs) }
                return outcomes
            } catch {
                guard error.isPassing else { break }
            }
            do {
                try await Task.sleep(for: Self.pauseBeforeRepeat)
            } catch {
                // The caller is gone.
                break
            }
        }
        throw lost
    }

    /// How often an enqueue is repeated while the store cannot be reached.
    private static let maxRepeats = 20
    private static let pauseBeforeRepeat = Duration.milliseconds(500)
}
