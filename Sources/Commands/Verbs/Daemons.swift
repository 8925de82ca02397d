import ArgumentParser
import ControlProtocol

extension Halyard {
    struct Daemons: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "daemons",
            abstract: "List the daemons that run jobs of the database, and those that ended within a day.",
            discussion: """
                An SQLite file has one daemon; several share a PostgreSQL database. SEEN is the time of the last sign of life. The jobs \
                of a daemon that ended run on the others.
                """)

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            let daemons = try await session.control.daemons()
            try session.print(daemons, DaemonTable.table(daemons, now: session.now))
            return .success
        }
    }
}
