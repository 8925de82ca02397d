import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Graph: Verb {
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

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            guard let graph else { return try await list(in: surroundings) }
            return try await Session.with(common, for: .reading, in: surroundings) { session in
                try await Self.draw(graph, as: common.json ? .json : format, session, surroundings)
                return .success
            }
        }

        static func draw(
            _ graph: GraphID, as format: Format, _ session: Session, _ surroundings: Surroundings
        ) async throws {
            let detail = try await session.control.graph(graph)
            let output = surroundings.output
            switch format {
            case .json: try output.json(detail.json)
            case .tree: try GraphTree(detail: detail, now: surroundings.now()).write(to: output)
            case .dot: try GraphDiagram.writeDot(detail, to: output)
            case .mermaid: try GraphDiagram.writeMermaid(detail, to: output)
            }
            try session.noteRunning(detail.jobs.map(\.state), in: surroundings)
        }

        private func list(in surroundings: Surroundings) async throws -> ExitCode {
            let graphs = try await Session.with(common, for: .reading, in: surroundings) {
                try await $0.control.graphs(limit: limit, before: before)
            }
            if common.json || format == .json {
                try surroundings.output.json(graphs.json)
                return .success
            }
            let now = surroundings.now()
            var table = Table([
                .init("GRAPH", .right), .init("NAME", shrinks: true), .init("ENQUEUED"), .init("FINISHED"),
                .init("JOBS", shrinks: true),
            ])
            table.rows = graphs.map { graph in
                [
                    "\(graph.id)", "\(graph.name ?? "")", "\(TimeText.relative(graph.enqueuedAt, to: now))",
                    "\(graph.finishedAt.map { TimeText.relative($0, to: now) } ?? "")", graph.counts.text,
                ]
            }
            try surroundings.output.table(table)
            return .success
        }
    }
}
