import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Watch: Verb {
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

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .reading, in: surroundings) { session in
                try session.requireDaemon("Watching")
                let watching = Watching(
                    session: session, scope: scope.scope, patience: follow.reconnect.duration,
                    surroundings: surroundings)
                return try await common.json ? watching.runJSON() : watching.run()
            }
        }
    }
}

/// The scope to watch: `41`, `graph:7` or `all`.
enum WatchArgument: Hashable, CustomStringConvertible {
    case work(WorkArgument)
    case all

    init?(argument: String) {
        if argument == "all" {
            self = .all
        } else {
            guard let work = WorkArgument(argument: argument) else { return nil }
            self = .work(work)
        }
    }

    @Sendable static func read(_ text: String) throws -> WatchArgument {
        if let scope = WatchArgument(argument: text) { return scope }
        throw UnreadableArgument(description: "give a job's number, such as 41, a graph's as graph:7, or all")
    }

    var description: String {
        switch self {
        case .work(let work): work.name
        case .all: "all"
        }
    }

    var scope: WatchScope {
        switch self {
        case .work(let work): work.scope
        case .all: .all
        }
    }
}
