import ArgumentParser
import Control
import Jobs

extension Halyard {
    struct Retry: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "retry", abstract: "Run a finished job again, as a new job.",
            discussion: """
                The new job takes the stored results of the old one's dependencies as inputs. Prints its number; the old job \
                and its result stay as they are.
                """)

        @Argument(help: "The finished job's number.", completion: .names(.finishedJobs), transform: JobID.read)
        var job: JobID

        @Flag(help: "Also repeat the jobs that were skipped because of it, and what else those need, as one graph.")
        var dependents = false

        @Option(
            help: ArgumentHelp(
                "A name of your own for this request: repeating it enqueues nothing more.", valueName: "key"))
        var key: String?

        @OptionGroup var waiting: WaitOptions
        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .writing, in: surroundings) { session in
                let receipt = try await session.control.retry(job, dependents: dependents, key: key)
                if common.json {
                    try surroundings.output.json(receipt.json)
                } else {
                    for id in receipt.jobs { try surroundings.output.line("\(id)") }
                }
                try surroundings.output.flush()
                try session.noteWritten(in: surroundings, willRun: true)
                return try await Waiting(session, surroundings, common, waiting.follow).wait(for: receipt, waiting)
            }
        }
    }
}
