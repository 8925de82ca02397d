import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Queues: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "queues", abstract: "List, pause, resume, set and remove queues.",
            subcommands: [List.self, Pause.self, Resume.self, Set.self, Remove.self], defaultSubcommand: List.self)

        struct List: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List the queues with their job counts.")

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                let queues = try await session.control.queues()
                try session.print(queues, QueueTable.table(queues, now: session.now))
                try await session.noteRunning(queues.contains { $0.counts[.running] > 0 } ? [.running] : [])
                return .success
            }
        }

        struct Pause: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "pause", abstract: "Stop queues from starting jobs; running jobs continue.")

            @Argument(help: "The queue's name.", completion: .names(.queues), transform: NameArgument.read)
            var queue: [String]

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Queues.change(queue.map { QueueChange(name: $0, isPaused: true) }, in: session)
            }
        }

        struct Resume: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "resume", abstract: "Let paused queues start jobs again.")

            @Argument(help: "The queue's name.", completion: .names(.queues), transform: NameArgument.read)
            var queue: [String]

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Queues.change(queue.map { QueueChange(name: $0, isPaused: false) }, in: session)
            }
        }

        struct Set: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "set", abstract: "Set a queue's limits and weight.",
                discussion: """
                    With --create the queue is created if it does not exist; the settings are optional then. A document also creates \
                    the queues it names: see halyard definitions apply.
                    """)

            @Argument(help: "The queue's name.", completion: .names(.queues), transform: NameArgument.read)
            var queue: String

            @Option(help: ArgumentHelp("How many jobs of the queue may run at once, at least 1.", valueName: "count"))
            var limit: Int?

            @Option(
                help: ArgumentHelp(
                    "How many jobs of the queue one daemon may run at once, at least 1; none to remove this limit.",
                    valueName: "count"), transform: DaemonLimit.read)
            var limitPerDaemon: DaemonLimit?

            @Option(help: ArgumentHelp("The queue's share relative to other queues, at least 1.", valueName: "share"))
            var weight: Int?

            @Flag(help: "Create the queue if it does not exist.")
            var create = false

            @OptionGroup var common: CommonOptions

            func validate() throws {
                if limit == nil && limitPerDaemon == nil && weight == nil && !create {
                    throw ValidationError(
                        "Give --limit, --limit-per-daemon or --weight, or --create to create the queue.")
                }
                if let limit, !(1...QueueSettings.maxLimit).contains(limit) {
                    throw ValidationError(
                        "--limit must be 1 to \(QueueSettings.maxLimit). To stop a queue: halyard queues pause")
                }
                if let limit = limitPerDaemon?.number, !(1...QueueSettings.maxLimit).contains(limit) {
                    throw ValidationError(
                        "--limit-per-daemon must be 1 to \(QueueSettings.maxLimit), or none to remove this limit.")
                }
                if let weight, !(1...QueueSettings.maxWeight).contains(weight) {
                    throw ValidationError("--weight must be 1 to \(QueueSettings.maxWeight).")
                }
            }

            func run(in session: Session) async throws -> ExitCode {
                try await Queues.change(
                    [QueueChange(name: queue, limit: limit, limitPerDaemon: limitPerDaemon, weight: weight)],
                    creating: create, in: session)
            }
        }

        struct Remove: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "remove", abstract: "Remove unused queues; their finished jobs stay.",
                discussion: """
                    A queue cannot be removed while unfinished jobs, definitions, graph definitions or schedules use it. The queue \
                    named default cannot be removed. If the code of an operation enqueues a job into a removed queue, the queue is \
                    created again. \(Removal.promise)
                    """)

            @Argument(help: "The queue's name.", completion: .names(.queues), transform: NameArgument.read)
            var queue: [String]

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Removal(session).remove(
                    "queue", queue, known: { try await $0.queues().map(\.settings.name) }
                ) { name, control in try await control.removeQueue(name) }
            }
        }

        /// Changes queues. Refuses an unknown name unless `creating` is true, so that a mistyped name does not
        /// create a queue.
        private static func change(
            _ changes: [QueueChange], creating: Bool = false, in session: Session
        ) async throws -> ExitCode {
            let known = try await session.control.queues().map(\.settings.name)
            // Check all names before any queue is changed. The change itself checks again whether the queue
            // exists.
            for change in changes where !creating {
                try UnknownName.check(
                    "queue", change.name, among: known,
                    hint: change.isPaused == nil ? "To create it, add --create." : "", see: "halyard queues list")
            }
            var queues: [QueueRecord] = []
            for change in changes { queues.append(try await session.control.change(change, create: creating)) }
            try session.print(queues, QueueTable.table(queues, now: session.now))
            try await session.noteWritten()
            return .success
        }
    }
}
