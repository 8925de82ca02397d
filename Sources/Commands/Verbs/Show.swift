import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Show: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "show", abstract: "Show everything about a job: times, attempts, dependencies, result.")

        @Argument(
            help: ArgumentHelp(
                "The job's number; graph:NUMBER draws the graph, as halyard graph does.", valueName: "job"),
            completion: .names(.jobs), transform: WorkArgument.read)
        var work: WorkArgument

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .reading, in: surroundings) { session in
                let job: JobID
                switch work {
                case .job(let id): job = id
                case .graph(let id):
                    try await Graph.draw(id, as: common.json ? .json : .tree, session, surroundings)
                    return .success
                }
                let detail = try await session.control.job(job)
                if common.json {
                    try surroundings.output.json(detail.json)
                } else {
                    try JobPage(detail: detail, now: surroundings.now()).write(to: surroundings.output)
                }
                try session.noteRunning([detail.job.state], in: surroundings)
                return .success
            }
        }
    }
}
