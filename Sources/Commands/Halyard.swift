import ArgumentParser
import Control

/// The command line: `halyard VERB …`.
struct Halyard: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "halyard",
        abstract: "Enqueue, follow and inspect the jobs of halyardd.",
        discussion: """
            Talks to the daemon through its socket. Where no daemon runs and no socket waits, it takes the database's lock \
            and does the work itself; the jobs then run when halyardd starts.

            Data goes to standard output, messages to standard error. --json prints what the control socket says; its names \
            and shapes stay as they are from release to release. With --json an error is an RFC 9457 problem, one line of \
            JSON on standard error; other lines there begin with "halyard: ".

            A script that completes words for bash, zsh or fish: halyard --generate-completion-script SHELL

            EXIT CODES
            \(ExitCode.table)
            """,
        version: Version.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Jobs",
                subcommands: [
                    Enqueue.self, Upload.self, Wait.self, Result.self, Cancel.self, Retry.self, Prune.self,
                ]),
            CommandGroup(
                name: "Looking", subcommands: [List.self, Show.self, Why.self, Graph.self, Watch.self, Status.self]),
            CommandGroup(name: "Settings", subcommands: [Queues.self, Definitions.self, Schedules.self, Reload.self]),
        ])

    static let _errorPrefix = "halyard: "
}
