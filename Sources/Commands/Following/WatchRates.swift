import Jobs
import OperationTypes

/// Measures the speed of running jobs over the last few seconds.
struct WatchRates {
    private struct Sample {
        var at: Duration
        var completed: Int64
    }

    private var samples: [JobID: [Sample]] = [:]
    private static let window = Duration.seconds(5)

    mutating func record(_ progress: OperationProgress, of job: JobID, at moment: Duration) {
        var recent = samples[job] ?? []
        // A new attempt starts from zero.
        if let last = recent.last, last.completed > progress.completed { recent = [] }
        recent.append(Sample(at: moment, completed: progress.completed))
        // Keep the newest sample before the window, as the start of the window.
        while recent.count > 2, recent[1].at + Self.window <= moment { recent.removeFirst() }
        samples[job] = recent
    }

    mutating func forget(_ job: JobID) { samples[job] = nil }

    /// Returns units per second; nil until there are two samples at different times.
    func rate(of job: JobID) -> Double? {
        guard let recent = samples[job], let first = recent.first, let last = recent.last, last.at > first.at else {
            return nil
        }
        return Double(last.completed - first.completed) / ((last.at - first.at) / .seconds(1))
    }
}
