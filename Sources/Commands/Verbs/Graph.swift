import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Graph: SessionVerb {
        enum Format: String, ExpressibleByArgument, CaseIterable { case tree, dot, mermaid, json }

        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "graph", abstract: "Draw a graph of jobs, or list the graphs.")

        @Argument(
            help: "The graph's number; if omitted, the newest graphs are listed.", completion: .names(.graphs),
            transform: GraphID.read)
        var graph: GraphID?

        @Option(help: ArgumentHelp("Output format.", valueName: "format"))
        var format = Format.tree

        @Option(help: ArgumentHelp("How many graphs to list at most, 1 to 10000.", valueName: "count"))
        var limit = 50

        @Option(
            help: ArgumentHelp("List only graphs older than this one.", valueName: "number"), transform: GraphID.read)
        var before: GraphID?

        @OptionGroup var common: CommonOptions

        func validate() throws {
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit takes 1 to 10000.") }
        }

        func run(in session: Session) async throws -> ExitCode {
            if let graph { try await Self.draw(graph, as: format, session) } else { try await list(session) }
            return .success
        }

        static func draw(_ graph: GraphID, as format: Format, _ session: Session) async throws {
            let detail = try await session.control.graph(graph)
            let output = session.output
            switch session.isJSON ? .json : format {
            case .json: try output.json(detail.json)
            case .tree: try GraphTree(detail: detail, now: session.now).write(to: output)
            case .dot: try GraphDiagram.writeDot(detail, to: output)
            case .mermaid: try GraphDiagram.writeMermaid(detail, to: output)
            }
            try await session.noteRunning(detail.jobs.map(\.state))
        }

        private func list(_ session: Session) async throws {
            let graphs = try await session.control.graphs(limit: limit, before: before)
            if format == .json { return try session.output.json(graphs.json) }
            let now = session.now
            try session.print(
                graphs,
                Table(
                    graphs,
                    [
                        .init("GRAPH", .right) { "\($0.id)" }, .init("NAME", shrinks: true) { "\($0.name ?? "")" },
                        .init("ENQUEUED") { "\(TimeText.relative($0.enqueuedAt, to: now))" },
                        .init("FINISHED") { "\($0.finishedAt.map { TimeText.relative($0, to: now) } ?? "")" },
                        .init("JOBS", shrinks: true) { $0.counts.text },
                    ]))
        }
    }
}
