import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Watch: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "watch", abstract: "Follow a job, a graph or everything, with live progress.",
            discussion: """
                Follows a job or a graph until it is final, then prints why jobs failed on standard error; the exit code is the \
                outcome, as for wait. Follows everything until Ctrl-C. If standard output is not a terminal, prints one line for \
                each change.
                """)

        @Argument(
            help: ArgumentHelp("A job's number, graph:NUMBER, or all (default).", valueName: "job"),
            completion: .names(.openJobs),
            transform: WatchArgument.read)
        var scope = WatchArgument.all

        @OptionGroup var follow: FollowOptions
        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            try await session.requireDaemon("Watching")
            return try await Watching(session: session, scope: scope.scope, patience: follow.reconnect).run()
        }
    }
}

/// The scope to watch: `41`, `graph:7` or `all`.
enum WatchArgument: Hashable, CustomStringConvertible, ParsedArgument {
    case work(WorkArgument)
    case all

    init?(argument: String) {
        guard argument != "all" else {
            self = .all
            return
        }
        guard let work = WorkArgument(argument: argument) else { return nil }
        self = .work(work)
    }

    static func remedy(for text: String) -> String {
        "give a job's number, such as 41, a graph's as graph:7, or all"
    }

    var description: String { if case .work(let work) = self { work.name } else { "all" } }
    var scope: WatchScope { if case .work(let work) = self { work.scope } else { .all } }
}
