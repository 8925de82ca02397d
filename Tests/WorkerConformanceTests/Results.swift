import Foundation
import WorkerConformance

extension WorkerConformance {
    /// Runs the checks on a dedicated thread, since they block.
    func results() async -> [Result] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var results: [Result] = []
                _ = run { results.append($0) }
                continuation.resume(returning: results)
            }
        }
    }
}
