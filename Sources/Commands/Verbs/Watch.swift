import ArgumentParser
import Control
import Jobs

extension Halyard {
    struct Watch: Verb {
        static let configuration = CommandConfiguration(
            commandName: "watch", abstract: "Follow a job, a graph or everything, with live progress.",
            discussion: """
                A job or a graph is followed until it is final, and the exit code tells the outcome as for wait; everything is \
                followed until Ctrl-C. Elsewhere than on a terminal each change is a line.
                """)

        @Argument(help: ArgumentHelp("A job's number, graph:NUMBER, or all.", valueName: "job"))
        var scope = WatchArgument.all

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .reading, in: surroundings) { session in
                try session.requireDaemon("Watching")
                let events = try await session.control.watch(scope.scope)
                if common.json { return try await printJSON(events, surroundings) }
                return try await Watching(events: events, surroundings: surroundings).run()
            }
        }

        private func printJSON(
            _ events: AsyncThrowingStream<WatchEvent, any Error>, _ surroundings: Surroundings
        ) async throws -> ExitCode {
            var states: [JobID: JobState] = [:]
            for try await event in events {
                if case .job(let job) = event { states[job.id] = job.state }
                try surroundings.output.json(event.json)
                try surroundings.output.flush()
                if event == .final { return ExitCode(states: states.values) }
            }
            throw Watching.endedEarly
        }
    }
}

/// What to watch: `41`, `graph:7`, `all`.
enum WatchArgument: ExpressibleByArgument, Hashable {
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

    var defaultValueDescription: String { "all" }

    var scope: WatchScope {
        switch self {
        case .work(.job(let id)): .job(id)
        case .work(.graph(let id)): .graph(id)
        case .all: .all
        }
    }
}
