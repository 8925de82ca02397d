import ArgumentParser
import Control
import Jobs

extension Halyard {
    struct Why: Verb {
        static let configuration = CommandConfiguration(
            commandName: "why", abstract: "Tell why a job is not running: which dependency, pause, limit or time.")

        @Argument(help: "The job's number.")
        var job: JobID

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            let explanation = try await Session.with(common, for: .reading, in: surroundings) {
                try await $0.control.why(job)
            }
            if common.json {
                try surroundings.output.json(explanation.json)
            } else {
                for line in WaitText.lines(explanation, now: surroundings.now()) { try surroundings.output.line(line) }
            }
            return .success
        }
    }
}
