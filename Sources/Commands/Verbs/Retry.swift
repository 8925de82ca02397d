import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Retry: WritingVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "retry", abstract: "Run a finished job again as a new job.",
            discussion: """
                The new job gets the stored results of the old job's dependencies as inputs. Prints the new job's number; the old \
                job and its result do not change.
                """)

        @Argument(help: "The finished job's number.", completion: .names(.finishedJobs), transform: JobID.read)
        var job: JobID

        @Flag(
            help:
                "Also repeat the jobs that were skipped because of this job, and the other jobs they need, as one graph."
        )
        var dependents = false

        @Option(
            help: ArgumentHelp(
                "An idempotency key: repeating the request with the same key enqueues nothing more.", valueName: "key"))
        var key: String?

        @OptionGroup var waiting: WaitOptions
        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            let receipt = try await session.control.retry(job, dependents: dependents, key: key)
            return try await session.end(with: receipt, waiting)
        }
    }
}
