import ArgumentParser
import ControlProtocol

/// The command line: `halyard VERB …`.
struct Halyard: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "halyard",
        abstract: "Enqueue, follow and inspect the jobs of halyardd.",
        discussion: """
            halyard talks to the daemon through its socket. If no daemon runs and systemd is not listening for one, halyard locks \
            the database and does the work itself; the jobs then run when halyardd starts.

            Data goes to standard output, messages to standard error. --json prints the response of the control socket; its \
            names and shapes do not change between releases. With --json an error is an RFC 9457 problem, one line of \
            JSON on standard error; other lines there begin with "halyard: ".

            To print a completion script for bash, zsh or fish: halyard --generate-completion-script SHELL

            EXIT CODES
            \(ExitCode.table)
            """,
        version: Version.current,
        groupedSubcommands: [
            CommandGroup(name: "Jobs", subcommands: jobVerbs),
            CommandGroup(name: "Looking", subcommands: lookingVerbs),
            CommandGroup(
                name: "Settings",
                subcommands: [
                    Queues.self, Definitions.self, Schedules.self, Reload.self, Workers.self, Daemons.self, Move.self,
                ]),
        ])

    /// The verbs for jobs. None of these has subcommands, see ``DirectVerb``.
    static let jobVerbs: [any Verb.Type] = [
        Enqueue.self, Upload.self, Wait.self, PrintResult.self, Cancel.self, Retry.self, Prune.self,
    ]
    /// The verbs that only read.
    static let lookingVerbs: [any Verb.Type] = [
        List.self, Show.self, Log.self, Why.self, Graph.self, Watch.self, Status.self,
    ]

    static let _errorPrefix = "halyard: "
}
