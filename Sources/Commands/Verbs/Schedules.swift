import ArgumentParser
import CalendarEvents
import ControlProtocol
import Jobs

extension Halyard {
    struct Schedules: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schedules", abstract: "List, show, pause, resume, run and remove schedules; try expressions.",
            discussion: """
                A schedule enqueues a definition or a graph definition at calendar times. Schedules are defined in a document: see \
                halyard definitions apply. Expressions have the syntax of systemd's OnCalendar=; see systemd.time(7).

                A time that passes while no daemon runs is skipped, unless the daemon starts within a minute after it or the \
                schedule is persistent; a persistent schedule fires once for all missed times.
                """,
            subcommands: [
                List.self, Show.self, Next.self, Pause.self, Resume.self, Run.self, Remove.self,
            ], defaultSubcommand: List.self)

        struct List: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List the schedules with their next and last times.")

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                let schedules = try await session.control.schedules()
                try session.print(schedules, ScheduleText.table(schedules, now: session.now))
                return .success
            }
        }

        struct Show: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "show", abstract: "Show a schedule with its next times.",
                discussion: "Times are in the time zone of this machine, which the daemon uses too.")

            @Argument(help: "The schedule's name.", completion: .names(.schedules), transform: NameArgument.read)
            var name: String

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                let schedules = try await session.control.schedules()
                let names = schedules.map(\.schedule.name)
                try UnknownName.check("schedule", name, among: names, see: "halyard schedules list")
                for record in schedules where record.schedule.name == name {
                    try session.print(record) {
                        try ScheduleText.write(record, zone: session.surroundings.zone, now: session.now, to: $0)
                    }
                }
                return .success
            }
        }

        struct Next: Verb {
            static let configuration = CommandConfiguration(
                commandName: "next", abstract: "Print the next times of calendar expressions.",
                discussion: """
                    Prints the normalized form of each expression, then the next times at which a schedule with all of them would fire. \
                    If there are several expressions, each line names those that match its time. Needs no daemon. If an expression \
                    has no time zone, its times are in the time zone of this machine.

                    halyard schedules next 'Mon..Fri 09:00' '*-*~01 12:00 Europe/Berlin'
                    """)

            @Argument(
                help: ArgumentHelp("A calendar expression in quotes, e.g. 'Mon *-*-* 09:00'.", valueName: "expression"))
            var expressions: [String]

            @Option(help: ArgumentHelp("How many times to print, 1 to 1000.", valueName: "number"))
            var count = 5

            @OptionGroup var common: CommonOptions

            func validate() throws {
                if !(1...1000).contains(count) { throw ValidationError("--count is 1 to 1000.") }
            }

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                var parsed: [CalendarExpression] = []
                let now = surroundings.now()
                let moments: [Timestamp]
                var own: [[Timestamp]] = []
                do {
                    parsed = try expressions.map { try CalendarExpression($0) }
                    let times = try CalendarTimes(parsed, local: surroundings.zone)
                    moments = ScheduleText.moments(of: times, after: now, count: count)
                    own = try parsed.map {
                        ScheduleText.moments(
                            of: try CalendarTimes([$0], local: surroundings.zone), after: now, count: count)
                    }
                } catch let problem as CalendarProblem {
                    throw CommandFailure(.data, problem, see: "man systemd.time")
                } catch let problem as ZoneProblem {
                    throw CommandFailure(.data, problem, see: "man systemd.time")
                }
                if common.json {
                    var answer = JSONObject()
                    answer["calendar"] = parsed.map(\.description).json
                    answer["times"] = moments.json
                    try surroundings.output.json(answer.text)
                    return .success
                }
                for expression in parsed { try surroundings.output.line("\(expression.description, .bold)") }
                for moment in moments {
                    var line: StyledText = "  \(ScheduleText.local(moment, in: surroundings.zone, now: now))"
                    if parsed.count > 1 {
                        let coming = zip(parsed, own).filter { $1.contains(moment) }.map(\.0.description)
                        line += "  \(coming.joined(separator: ", "))"
                    }
                    try surroundings.output.line(line)
                }
                if moments.isEmpty { try surroundings.output.line("  never") }
                return .success
            }
        }

        struct Pause: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "pause", abstract: "Stop schedules from firing; jobs already enqueued still run.")

            @Argument(help: "The schedule's name.", completion: .names(.schedules), transform: NameArgument.read)
            var name: [String]

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Schedules.setPaused(true, name, in: session)
            }
        }

        struct Resume: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "resume", abstract: "Let paused schedules fire again.",
                discussion: "Times that passed during the pause are skipped; to enqueue now, use halyard schedules run."
            )

            @Argument(help: "The schedule's name.", completion: .names(.schedules), transform: NameArgument.read)
            var name: [String]

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Schedules.setPaused(false, name, in: session)
            }
        }

        struct Run: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "run", abstract: "Fire a schedule now, even if it is paused.",
                discussion: "Prints the jobs' numbers. The schedule's times do not change.")

            @Argument(help: "The schedule's name.", completion: .names(.schedules), transform: NameArgument.read)
            var name: String

            @OptionGroup var waiting: WaitOptions
            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await session.end(with: try await session.control.run(schedule: name), waiting)
            }
        }

        struct Remove: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "remove", abstract: "Remove schedules; jobs already enqueued still run.",
                discussion: Removal.promise)

            @Argument(help: "The schedule's name.", completion: .names(.schedules), transform: NameArgument.read)
            var name: [String]

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Removal(session).remove("schedule", name, known: Schedules.names) {
                    name, control in try await control.removeSchedule(name)
                }
            }
        }

        private static func names(_ control: any JobControl) async throws -> [String] {
            try await control.schedules().map(\.schedule.name)
        }

        private static func setPaused(
            _ isPaused: Bool, _ names: [String], in session: Session
        ) async throws -> ExitCode {
            // A single unknown name is refused by `setPaused`, whose message is more precise.
            if names.count > 1 {
                try UnknownName.check("schedule", names, among: try await Schedules.names(session.control))
            }
            var records: [ScheduleRecord] = []
            for name in names { records.append(try await session.control.setPaused(isPaused, schedule: name)) }
            try session.print(records, ScheduleText.table(records, now: session.now))
            try await session.noteWritten()
            return .success
        }
    }
}
