import ArgumentParser
import ControlProtocol

extension Halyard {
    struct Daemons: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "daemons", abstract: "List, drain and resume the daemons that run jobs of the database.",
            subcommands: [List.self, Drain.self, Resume.self], defaultSubcommand: List.self)

        struct List: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List the daemons that run, and those that ended within a day.",
                discussion: """
                    An SQLite file has one daemon; several share a PostgreSQL database. SEEN is the time of the last sign of life. The \
                    jobs of a daemon that ended run on the others.
                    """)

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                let daemons = try await session.control.daemons()
                try session.print(daemons, DaemonTable.table(daemons, now: session.now))
                return .success
            }
        }

        struct Drain: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "drain", abstract: "Stop a daemon from starting jobs; its running jobs continue.",
                discussion: """
                    The daemon keeps running and answers its socket. It fires no schedules. It stays drained after a restart, until it is \
                    resumed. Jobs that have a file on the daemon wait for it. Only for daemons that share a PostgreSQL database.
                    """)

            @Argument(help: "The daemon's name.", transform: NameArgument.read)
            var daemon: String

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Daemons.set(drained: true, daemon, in: session)
            }
        }

        struct Resume: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "resume", abstract: "Let a drained daemon start jobs again.")

            @Argument(help: "The daemon's name.", transform: NameArgument.read)
            var daemon: String

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Daemons.set(drained: false, daemon, in: session)
            }
        }

        private static func set(drained: Bool, _ name: String, in session: Session) async throws -> ExitCode {
            let daemons = [try await session.control.setDrained(drained, daemon: name)]
            try session.print(daemons, DaemonTable.table(daemons, now: session.now))
            try await session.noteWritten()
            return .success
        }
    }
}
