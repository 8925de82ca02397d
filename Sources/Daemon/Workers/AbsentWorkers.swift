import Jobs

/// Stands in for the worker programs that could have a kind which the store knows from an earlier start and which no program
/// runs. The jobs of the kind wait.
final class AbsentWorkers: KindHost {
    private let problems: @Sendable () -> [String]

    /// - Parameter problems: Returns the reason of each program that does not run, as a sentence.
    init(problems: @escaping @Sendable () -> [String]) { self.problems = problems }

    var problem: String? {
        let problems = problems()
        return problems.isEmpty ? "the worker of this kind is starting" : problems.joined(separator: "; ")
    }

    // No job is claimed without room. A job that was claimed just before returns to its queue.
    var room: Int { 0 }
    var roomForSuspects: Int? { 0 }
    func run(_ attempt: HostedAttempt) { attempt.onEnd(.notRun) }

    func flush() {}
    func stop(_ lease: Lease, _ reason: HostedStop) {}
    func abandon(_ lease: Lease, after grace: Duration) {}
    func recorded(_ lease: Lease, kind: String) {}
    // A program that runs again gets its own host.
    func observeRoom(_ body: @escaping @Sendable () -> Void) {}
    func refusals(of inputs: [PlannedInput]) async -> [InputRefusal?] { inputs.map { _ in nil } }

    func cleanUp(
        asking state: @escaping @Sendable (JobID, _ kind: String) async throws(StoreError) -> JobState?
    ) async -> Bool { false }
}
