import ControlProtocol
import Jobs

/// Prints on standard error why jobs that were followed did not succeed.
struct FailureNotes {
    let session: Session
    /// How long to wait for a database that a daemon is about to close.
    var patience = Duration.seconds(1)

    /// The number of jobs to explain; the others are only counted.
    private static let limit = 10

    /// Explains the failed jobs. If none failed, explains the skipped jobs, which are otherwise only a consequence.
    func report(_ states: [JobID: JobState]) async throws {
        let failed = states.filter { $0.value == .failed }.keys.sorted()
        let jobs = failed.isEmpty ? states.filter { $0.value == .skipped }.keys.sorted() : failed
        for result in try await results(of: jobs.prefix(Self.limit)) {
            guard case .ended(let outcome, let failure) = result.value else { continue }
            try session.note(
                "job \(result.job) \(outcome.name, outcome.state.style): " + failure.text
                    + (failure.message.last?.isPunctuation == true ? "" : ".") + " See: halyard show \(result.job)")
        }
        if jobs.count > Self.limit {
            try session.note("and \(jobs.count - Self.limit) more. See: halyard list --state failed")
        }
    }

    /// Returns the results from the daemon or, if it is gone, from its database.
    private func results(of jobs: some Sequence<JobID>) async throws -> [JobResult] {
        do {
            return try await Self.results(of: jobs, from: session.control)
        } catch let problem as ControlProblem where problem.code == .noDaemon || problem.code == .unavailable {
            let stored = try await session.readStored(patience: patience) { try await Self.results(of: jobs, from: $0) }
            if let stored { return stored }
            // The outcomes are known, and the exit code reports them.
            try session.note("the daemon stopped, so the reasons for the failures are unknown: \(problem.message)")
            return []
        }
    }

    private static func results(
        of jobs: some Sequence<JobID>, from control: any JobControl
    ) async throws -> [JobResult] {
        var results: [JobResult] = []
        for job in jobs {
            if let result = try await control.result(job) { results.append(result) }
        }
        return results
    }
}
