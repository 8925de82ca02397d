import ArgumentParser
import Control
import Jobs

extension Halyard {
    struct Show: Verb {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show everything about a job: times, attempts, dependencies, result.")

        @Argument(help: "The job's number.")
        var job: JobID

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .reading, in: surroundings) { session in
                let detail = try await session.control.job(job)
                if common.json {
                    try surroundings.output.json(detail.json)
                } else {
                    try JobPage(detail: detail, now: surroundings.now()).write(to: surroundings.output)
                }
                try session.noteRunning([detail.job.state], in: surroundings)
                return .success
            }
        }
    }
}
