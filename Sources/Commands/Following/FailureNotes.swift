import Control
import Jobs

/// Says on standard error why jobs that were followed did not succeed.
struct FailureNotes {
    let session: Session
    let surroundings: Surroundings

    /// The rest is counted.
    private static let limit = 10

    /// What failed; where nothing did, what was skipped, since in a graph that only follows.
    func tell(_ states: [JobID: JobState]) async throws {
        let failed = states.filter { $0.value == .failed }.keys.sorted()
        let jobs = failed.isEmpty ? states.filter { $0.value == .skipped }.keys.sorted() : failed
        for job in jobs.prefix(Self.limit) {
            guard case .ended(let outcome, let failure) = try await session.control.result(job)?.value else { continue }
            try surroundings.note(
                "job \(job) \(outcome.name, outcome.state.style): " + failure.text + " See: halyard show \(job)")
        }
        if jobs.count > Self.limit {
            try surroundings.note("and \(jobs.count - Self.limit) more. See: halyard list --state failed")
        }
    }
}
