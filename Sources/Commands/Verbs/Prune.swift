import ArgumentParser
import ControlProtocol
import Glibc
import Jobs

extension Halyard {
    struct Prune: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "prune", abstract: "Delete finished jobs and their results permanently.",
            discussion: """
                A graph is deleted as a whole, by the worst outcome of its jobs: failed, then cancelled, then skipped, then \
                succeeded. Jobs that a remaining job depends on are kept. The command prints how many jobs it deleted and kept.
                """)

        @Option(
            help: ArgumentHelp("Only jobs that finished longer ago than this, e.g. 30d.", valueName: "duration"),
            transform: Duration.read)
        var olderThan: Duration

        @Option(help: ArgumentHelp("Only jobs with this outcome; may be repeated.", valueName: "outcome"))
        var outcome: [Outcome] = []

        @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
        var yes = false

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            let before = surroundings.now() + (.zero - olderThan)
            let outcomes = outcome.isEmpty ? Set(Outcome.allCases) : Set(outcome)
            if !yes {
                let question: StyledText =
                    "Delete jobs that were \(outcomes.map(\.name).sorted().joined(separator: ", ")) before \(before.iso8601) permanently?"
                guard try confirms(question, in: surroundings) else {
                    try surroundings.note("nothing was deleted")
                    return .success
                }
            }
            return try await Session.with(common, for: .writing, in: surroundings) { session in
                let answer = try await session.control.prune(
                    PruneRequest(finishedBefore: before, outcomes: outcomes))
                try session.print(answer) { output in
                    try output.line("\(AmountText.count(answer.deleted, "job")) deleted")
                    if answer.keptByGraph > 0 {
                        try session.note(
                            "\(AmountText.count(answer.keptByGraph, "job")) kept: the graph has another outcome and is deleted only as a whole. See: halyard graph"
                        )
                    }
                    if answer.keptByDependents > 0 {
                        try session.note(
                            "\(AmountText.count(answer.keptByDependents, "job")) kept: remaining jobs depend on them")
                    }
                }
                return .success
            }
        }

        private func confirms(_ question: StyledText, in surroundings: Surroundings) throws -> Bool {
            guard isatty(surroundings.input) == 1 else {
                throw CommandFailure(
                    .usage, "prune asks for confirmation, but standard input is not a terminal. Add --yes.")
            }
            try surroundings.errors.write((question + " [y/N] ").rendered(colours: surroundings.errors.hasColours))
            try surroundings.errors.flush()
            var reader = ByteReader(descriptor: surroundings.input, name: "the answer")
            let answer = try reader.next() ?? []
            return answer.first.map { $0 | 0x20 == UInt8(ascii: "y") } ?? false
        }
    }
}
