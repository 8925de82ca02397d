import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct PrintResult: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "result", abstract: "Print the result of a job.",
            discussion: """
                Prints the value to standard output as JSON, or the failure to standard error. The exit code is the outcome: \
                0 succeeded, 1 failed, 2 cancelled, 3 skipped, 4 not final. With 4, standard output stays empty, and with --json \
                a problem goes to standard error.
                """)

        @Argument(help: "The job's number.", completion: .names(.finishedJobs), transform: JobID.read)
        var job: JobID

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            guard let result = try await session.control.result(job) else {
                throw CommandFailure(.jobOpen, "Job \(job) is not final yet. Wait for it with: halyard wait \(job)")
            }
            try session.print(result) { output in
                switch result.value {
                case .succeeded(let value): try output.json(value)
                case .ended(let outcome, let failure):
                    try session.note("job \(job) \(outcome.name, outcome.state.style): " + failure.text)
                }
            }
            return ExitCode(states: [result.outcome.state])
        }
    }
}
