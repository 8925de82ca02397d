import Jobs
import OperationTypes

extension Act {
    /// Saves checkpoints: the numbers from 1 to `number`.
    ///
    /// - Returns: What became of each.
    func save(_ number: Int, atOnce: Bool, _ job: JobContext) async -> JSONText {
        var results: [String] = []
        if atOnce {
            let tasks = (1...number).map { value in Task.immediate { await result(ofSaving: value, job) } }
            // All of them have asked to save their values.
            job.operation.report(OperationProgress(completed: Int64(number), unit: "values"))
            for task in tasks { results.append(await task.value) }
        } else {
            for value in 1...number { results.append(await result(ofSaving: value, job)) }
        }
        return JSONText(elements: results.map { JSONText(string: $0) })
    }

    /// Begins to save two checkpoints, and does not wait for them.
    func saveAndLeave(_ job: JobContext) {
        for value in 1...2 { Task.immediate { await result(ofSaving: value, job) } }
    }

    private func result(ofSaving value: Int, _ job: JobContext) async -> String {
        do throws(CheckpointError) {
            try await job.save(value)
            return "saved"
        } catch {
            return error.description
        }
    }
}
