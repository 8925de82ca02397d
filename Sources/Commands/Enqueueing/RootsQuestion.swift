import Control
import Jobs

/// Asks the daemon which files lie outside its roots; only it knows them.
///
/// Each file is asked for by a request that also waits for a job that cannot exist. It is refused in any case, and the
/// inputs are looked at first: nothing is enqueued, and the reason tells.
struct RootsQuestion {
    var session: Session
    var definition: String

    /// The last number there is; no database gets there.
    private static let noJob = JobID(.max)
    private static let batchSize = 1000

    /// The places of the inputs whose files lie outside.
    ///
    /// - Throws: What else speaks against an input.
    func outside(_ inputs: [ResolvedInput]) async throws -> [Int] {
        var outside: [Int] = []
        for start in stride(from: 0, to: inputs.count, by: Self.batchSize) {
            let batch = inputs[start..<min(start + Self.batchSize, inputs.count)]
            let answers = try await session.control.enqueue(
                batch.map { input in
                    Submission(.definition(definition), input: input.object.text, after: [.init(job: Self.noJob)])
                })
            for (place, answer) in zip(batch.indices, answers) {
                guard case .refused(let problem) = answer else {
                    throw CommandFailure(.software, "The daemon accepted what waits for no job. Please report this.")
                }
                switch problem.code {
                case .outsideRoots: outside.append(place)
                case .notFound: break
                default: throw CommandFailure(problem)
                }
            }
        }
        return outside
    }
}
