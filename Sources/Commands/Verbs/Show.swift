import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Show: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "show", abstract: "Show everything about a job: times, attempts, dependencies, result.")

        @Argument(
            help: ArgumentHelp(
                "The job's number; graph:NUMBER draws the graph, as halyard graph does.", valueName: "job"),
            completion: .names(.jobs), transform: WorkArgument.read)
        var work: WorkArgument

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            switch work {
            case .graph(let id): try await Graph.draw(id, as: .tree, session)
            case .job(let id):
                let detail = try await session.control.job(id)
                try session.print(detail) { try JobPage(detail: detail, now: session.now).write(to: $0) }
                try await session.noteOpen(detail.job)
            }
            return .success
        }
    }
}
