import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct List: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "list", abstract: "List jobs, newest first.", aliases: ["ls"])

        @Option(help: ArgumentHelp("Only jobs in this state; may be repeated.", valueName: "state"))
        var state: [JobState] = []

        @Flag(help: "Only jobs that are not final.")
        var open = false

        @Option(
            help: ArgumentHelp("Only jobs of this queue.", valueName: "name"), completion: .names(.queues),
            transform: NameArgument.read)
        var queue: String?

        @Option(
            help: ArgumentHelp("Only jobs of this definition.", valueName: "name"), completion: .names(.definitions),
            transform: NameArgument.read)
        var definition: String?

        @Option(help: ArgumentHelp("Only jobs of this kind.", valueName: "name"), transform: NameArgument.read)
        var kind: String?

        @Option(
            help: ArgumentHelp("Only jobs of this graph.", valueName: "number"), completion: .names(.graphs),
            transform: GraphID.read)
        var graph: GraphID?

        @Option(
            help: ArgumentHelp("Continue the list after this job.", valueName: "job"),
            transform: JobID.read)
        var after: JobID?

        @Flag(help: "List the oldest jobs first.")
        var oldestFirst = false

        @Option(help: ArgumentHelp("How many jobs to list at most, 1 to 10000.", valueName: "count"))
        var limit = 100

        @OptionGroup var common: CommonOptions

        func validate() throws {
            if open && !state.isEmpty { throw ValidationError("--open and --state cannot be combined.") }
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit takes 1 to 10000.") }
        }

        func run(in session: Session) async throws -> ExitCode {
            let states = open ? Set(JobState.allCases.filter { !$0.isFinal }) : state.isEmpty ? nil : Set(state)
            let filter = JobFilter(
                states: states, queue: queue, definition: definition, kind: kind, graph: graph, after: after,
                order: oldestFirst ? .oldestFirst : .newestFirst, limit: limit)
            let jobs = try await session.control.jobs(filter)
            if jobs.isEmpty { try await refuseUnknownNames(session) }
            try session.print(jobs) { output in
                try output.table(JobTable.table(jobs, now: session.now))
                if let last = jobs.last, filter.mayContinue(after: jobs) {
                    try session.note("there may be more: add --after \(last.id)")
                }
            }
            try await session.noteRunning(jobs.map(\.state))
            return .success
        }

        /// Refuses unknown names. An empty list because of a mistyped name would look like good news.
        private func refuseUnknownNames(_ session: Session) async throws {
            if let queue {
                let known = try await session.control.queues().map(\.settings.name)
                try UnknownName.check("queue", queue, among: known, see: "halyard queues list")
            }
            if definition != nil || kind != nil {
                let known = try await session.control.definitions()
                let see = "halyard definitions list"
                // Graph definitions are excluded, since no job has one.
                if let definition {
                    let names = known.definitions.map(\.definition.name)
                    try UnknownName.check("definition", definition, among: names, see: see)
                }
                if let kind { try UnknownName.check("kind", kind, among: known.kinds.map(\.name), see: see) }
            }
            if let graph { _ = try await session.control.graph(graph) }
        }
    }
}
