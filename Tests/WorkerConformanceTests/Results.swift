import Foundation
import Testing
import WorkerConformance

extension WorkerConformance {
    /// Runs the checks on a dedicated thread, since they block.
    func results() async -> [Result] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var results: [Result] = []
                do {
                    _ = try run { results.append($0) }
                } catch {
                    Issue.record("the checks threw \(error)")
                }
                continuation.resume(returning: results)
            }
        }
    }
}
