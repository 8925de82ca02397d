import ControlProtocol
import Jobs

/// Asks the daemon which files are outside its roots, which only the daemon knows.
///
/// For each file it sends a submission that also depends on a job that cannot exist. The daemon checks the
/// input first and then refuses the submission in any case, so nothing is enqueued, and the reason answers the
/// question.
struct RootsQuestion {
    var session: Session
    var definition: String

    /// The highest number, which no job ever gets.
    private static let noJob = JobID(.max)
    private static let batchSize = 1000

    /// Returns the indices of the inputs whose files are outside the roots.
    ///
    /// - Throws: ``CommandFailure`` if an input is refused for another reason.
    func outside(_ inputs: [ResolvedInput]) async throws -> [Int] {
        var outside: [Int] = []
        for start in stride(from: 0, to: inputs.count, by: Self.batchSize) {
            let batch = inputs[start..<min(start + Self.batchSize, inputs.count)]
            let answers = try await session.control.enqueue(
                batch.map { input in
                    Submission(.definition(definition), input: input.object.text, after: [.init(job: Self.noJob)])
                })
            for (index, answer) in zip(batch.indices, answers) {
                guard case .refused(let problem) = answer else {
                    throw CommandFailure(
                        .software,
                        "The daemon accepted a submission that it should have refused. Please report this bug.")
                }
                switch problem.code {
                case .outsideRoots: outside.append(index)
                case .notFound: break
                default: throw CommandFailure(problem)
                }
            }
        }
        return outside
    }
}
