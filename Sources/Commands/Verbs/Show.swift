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
            let detail = try await Session.with(common, for: .reading, in: surroundings) {
                try await $0.control.job(job)
            }
            if common.json {
                try surroundings.output.json(detail.json)
            } else {
                try JobPage(detail: detail, now: surroundings.now()).write(to: surroundings.output)
            }
            return .success
        }
    }
}
