import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Log: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "log", abstract: "Print the log of a job's attempt.",
            discussion: """
                Prints the lines that the job's last attempt wrote, in order, also for a running job. A log has a limit: \
                beyond it, lines in the middle are left out, and a message says how many. On a terminal, control characters are \
                printed in the form \\x1b; a file or a pipe gets the bytes unchanged. With --json, prints one object for each line; \
                its field base64 contains the exact bytes of a line that is not text. The exit code is 66 if the job has no log.
                """)

        @Argument(help: "The job's number.", completion: .names(.jobs), transform: JobID.read)
        var job: JobID

        @Option(
            help: ArgumentHelp("The attempt; default: the last one with a log.", valueName: "number"),
            transform: AttemptArgument.read)
        var attempt: AttemptArgument?

        @Flag(
            name: [.short, .long],
            help: "Wait for further lines until the attempt ends or, without --attempt, until the job is final.")
        var follow = false

        @Flag(name: [.short, .long], help: "Print the time at which each line arrived.")
        var timestamps = false

        @OptionGroup var reconnecting: FollowOptions
        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            let follow = follow ? try await mayGrow(in: session) : false
            let request = LogRequest(job: job, attempt: attempt?.number, follows: follow)
            var text = LogText(session: session, showsTimes: timestamps)
            do {
                if follow {
                    var log = LastingLog(session, request, patience: reconnecting.reconnect) { try text.print($0) }
                    try await log.run()
                } else {
                    for try await pieces in try await session.control.log(request) { try text.print(pieces) }
                }
                try text.finish()
            } catch {
                try text.finish()
                throw error
            }
            return .success
        }

        /// Whether further lines may follow. The log of a final job is complete, so it can be read without a daemon.
        private func mayGrow(in session: Session) async throws -> Bool {
            if !session.isDaemon, try await session.control.record(job).state.isFinal { return false }
            try await session.requireDaemon("Following the log of a job that is not final")
            return true
        }
    }
}

/// The number of an attempt.
struct AttemptArgument: Hashable, CustomStringConvertible, ParsedArgument {
    var number: Int

    init?(argument: String) {
        guard let number = Int(argument), number > 0 else { return nil }
        self.number = number
    }

    static func remedy(for text: String) -> String { "give the number of an attempt, such as 1" }

    var description: String { "\(number)" }
}
