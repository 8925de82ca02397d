import ArgumentParser
import Control
import Jobs

extension Halyard {
    struct Queues: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "queues", abstract: "List, pause, resume and set queues.",
            subcommands: [List.self, Pause.self, Resume.self, Set.self], defaultSubcommand: List.self)

        struct List: Verb {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List the queues with their counts.")

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                try await Session.with(common, for: .reading, in: surroundings) { session in
                    let queues = try await session.control.queues()
                    if common.json {
                        try surroundings.output.json(queues.json)
                    } else {
                        try surroundings.output.table(QueueTable.table(queues, now: surroundings.now()))
                    }
                    let hasRunning = queues.contains { $0.counts[.running] > 0 }
                    try session.noteRunning(hasRunning ? [.running] : [], in: surroundings)
                    return .success
                }
            }
        }

        struct Pause: Verb {
            static let configuration = CommandConfiguration(
                commandName: "pause", abstract: "Start no more jobs of queues; what runs goes on.")

            @Argument(help: "The queue's name.")
            var queue: [String]

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                try await Queues.change(queue.map { QueueChange(name: $0, isPaused: true) }, common, in: surroundings)
            }
        }

        struct Resume: Verb {
            static let configuration = CommandConfiguration(
                commandName: "resume", abstract: "Start jobs of paused queues again.")

            @Argument(help: "The queue's name.")
            var queue: [String]

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                try await Queues.change(queue.map { QueueChange(name: $0, isPaused: false) }, common, in: surroundings)
            }
        }

        struct Set: Verb {
            static let configuration = CommandConfiguration(
                commandName: "set", abstract: "Set a queue's limit and weight.",
                discussion: "A queue that does not exist is made.")

            @Argument(help: "The queue's name.")
            var queue: String

            @Option(help: ArgumentHelp("How many of its jobs may run at once, at least 1.", valueName: "count"))
            var limit: Int?

            @Option(help: ArgumentHelp("Its share beside other queues, at least 1.", valueName: "share"))
            var weight: Int?

            @OptionGroup var common: CommonOptions

            func validate() throws {
                if limit == nil && weight == nil { throw ValidationError("Give --limit, --weight or both.") }
                if let limit, limit < 1 {
                    throw ValidationError("--limit is at least 1. To stop a queue: halyard queues pause")
                }
                if let weight, weight < 1 { throw ValidationError("--weight is at least 1.") }
            }

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                try await Queues.change(
                    [QueueChange(name: queue, limit: limit, weight: weight)], common, in: surroundings)
            }
        }

        /// Pausing and resuming must not make a queue of a mistyped name.
        private static func change(
            _ changes: [QueueChange], _ common: CommonOptions, in surroundings: Surroundings
        ) async throws -> ExitCode {
            try await Session.with(common, for: .writing, in: surroundings) { session in
                if changes.contains(where: { $0.isPaused != nil }) {
                    let known = try await session.control.queues()
                    for change in changes { try UnknownName.check(queue: change.name, among: known) }
                }
                var queues: [QueueRecord] = []
                for change in changes { queues.append(try await session.control.change(change)) }
                if common.json {
                    try surroundings.output.json(queues.json)
                } else {
                    try surroundings.output.table(QueueTable.table(queues, now: surroundings.now()))
                }
                try session.noteWritten(in: surroundings)
                return .success
            }
        }
    }
}
