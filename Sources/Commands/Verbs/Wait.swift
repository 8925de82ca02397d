import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Wait: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "wait", abstract: "Wait until jobs or graphs are final.",
            discussion: """
                Prints a line for each job that ended, and on standard error why a job failed. The exit code is the outcome: \
                0 all succeeded, 1 failed, 2 cancelled, 3 skipped, 4 not final when --timeout passed.
                """)

        @Argument(
            help: ArgumentHelp("A job's number, or graph:NUMBER.", valueName: "job"), completion: .names(.openJobs),
            transform: WorkArgument.read)
        var work: [WorkArgument]

        @Option(
            help: ArgumentHelp("How long to wait at most, e.g. 30s, 5m.", valueName: "duration"),
            transform: Duration.read
        )
        var timeout: Duration?

        @OptionGroup var follow: FollowOptions
        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            try await Waiting(session, patience: follow.reconnect).wait(for: work, timeout: timeout)
        }
    }
}
