import ArgumentParser
import ControlProtocol
import Jobs
import WorkerConformance

extension Halyard {
    struct Workers: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "workers", abstract: "List and check the programs that run jobs for the daemon.",
            subcommands: [List.self, Test.self], defaultSubcommand: List.self)

        struct List: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List the worker programs of the daemon and their processes.",
                discussion: """
                    A worker rests after one of its processes fails to start, or after five of them end unexpectedly \
                    within a minute while none of its jobs ends. Its jobs wait until it starts again; the problem \
                    below the tables says why it rests and when it starts again. Crashes are counted since the daemon \
                    started.
                    """)

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await session.requireDaemon("Listing the workers")
                let workers = try await session.control.workers()
                try session.print(workers) { output in
                    try output.table(WorkerTable.table(workers))
                    if let processes = WorkerTable.processes(workers, now: session.now) {
                        try output.line("")
                        try output.table(processes)
                    }
                    for problem in workers.compactMap(\.problem) {
                        try output.line("\("problem", .red): \(problem)")
                    }
                }
                return .success
            }
        }

        struct Test: Verb {
            static let configuration = CommandConfiguration(
                commandName: "test", abstract: "Check that a program follows the protocol of workers.",
                discussion: """
                    Starts the program several times in the place of the daemon, lets it run small jobs, and prints each rule that it \
                    follows or breaks, and how a job with the given input ended. The program's standard error stays \
                    visible. If the program does not answer a check in time, later checks that need the same answer \
                    are skipped. A terminal shows the name of the running check. Needs no daemon. The exit code is 65 \
                    if a check failed.

                    halyard workers test --input '{"width": 320}' -- /usr/lib/photos/worker --verbose
                    """)

            @Option(
                help: ArgumentHelp("The kind to run; default: the first that the program announces.", valueName: "name")
            )
            var kind: String?

            @Option(help: ArgumentHelp("The input of the jobs, a JSON value; default: {}.", valueName: "json"))
            var input: String?

            @Option(help: ArgumentHelp("The settings of the program, a JSON object; default: {}.", valueName: "json"))
            var settings: String?

            @Option(help: ArgumentHelp("How long a job may run; default: 1m.", valueName: "duration"))
            var timeout: String?

            @Flag(help: "Print the results as a JSON array.")
            var json = false

            @Argument(
                parsing: .postTerminator,
                help: ArgumentHelp("The program and its arguments, after --.", valueName: "command"))
            var command: [String] = []

            func validate() throws {
                if command.isEmpty {
                    throw ValidationError("Write the program after --: halyard workers test -- PROGRAM")
                }
                if let timeout, Duration(human: timeout) == nil {
                    throw ValidationError("--timeout is a duration such as 30s or 5m.")
                }
                if let settings, try Self.json(settings, of: "--settings").shape != .object {
                    throw ValidationError("--settings is a JSON object such as {\"photos.folder\": \"/srv/photos\"}.")
                }
                if let input { _ = try Self.json(input, of: "--input") }
            }

            private static func json(_ text: String, of option: String) throws -> JSONText {
                do throws(JSONProblem) {
                    return try JSONText(checking: Array(text.utf8))
                } catch {
                    throw ValidationError("\(option) is not JSON: \(error).")
                }
            }

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                do {
                    return try check(in: surroundings)
                } catch let problem as WorkerConformance.UnknownKind {
                    let nearest = NearestName.unknown("kind", problem.kind, among: problem.announced)
                    throw CommandFailure(
                        .usage,
                        "--kind: \(nearest)\(nearest.hasSuffix("?") ? "" : ".") The program announces \(problem.announced.joined(separator: ", "))."
                    )
                }
            }

            private func check(in surroundings: Surroundings) throws -> ExitCode {
                var conformance = WorkerConformance(command: command, kind: kind)
                if let settings { conformance.settings = try Self.json(settings, of: "--settings") }
                if let input { conformance.input = try Self.json(input, of: "--input") }
                if let limit = timeout.flatMap({ Duration(human: $0) }) { conformance.attemptLimit = limit }
                var results: [WorkerConformance.Result] = []
                let isLive = surroundings.output.isTerminal && !json
                // All other checks are skipped for the same reason if the program does not introduce itself.
                var hasIntroduction = true
                let hasPassed = try conformance.run { name in
                    // The line stays, since the program may write its errors to the same terminal.
                    if isLive, hasIntroduction { try surroundings.output.line("\("checking", .dim) \(name)") }
                    try surroundings.output.flush()
                } _: { result in
                    if results.isEmpty { hasIntroduction = result.verdict == .passed }
                    results.append(result)
                    if json || !hasIntroduction && results.count > 1 { return }
                    try surroundings.output.line(Self.line(result))
                    try surroundings.output.flush()
                }
                if !hasIntroduction, !json {
                    try surroundings.output.line(
                        "skipped \(AmountText.count(results.count - 1, "check")), since the program did not introduce itself"
                    )
                }
                if json {
                    let json = JSONWriter.text {
                        $0.array(results) { result, writer in Self.write(result, to: &writer) }
                    }
                    try surroundings.output.json(json)
                }
                return hasPassed ? .success : .data
            }

            private static func line(_ result: WorkerConformance.Result) -> StyledText {
                let style: TextStyle =
                    switch result.verdict {
                    case .passed: .green
                    case .failed: .red
                    case .skipped: .dim
                    }
                let word = result.verdict.rawValue
                let padding = StyledText.spaces(9 - word.count)
                let reason = (result.reason ?? result.outcome.map(Self.text)).map { ": \($0)" } ?? ""
                return StyledText(word, style) + padding + StyledText(result.name, .bold)
                    + StyledText(result.verdict == .failed ? reason + ". Rule: " + result.rule : reason)
            }

            /// How the job ended, for people. A long output is cut.
            private static func text(_ outcome: WorkerConformance.Outcome) -> String {
                switch outcome {
                case .succeeded(let output):
                    let text = output.compact.string
                    return "the job succeeded with \(text.prefix(500))\(text.count > 500 ? "…" : "")"
                case .failed(let failure): return "the job failed with \(failure.code): \(failure.message)"
                }
            }

            private static func write(_ result: WorkerConformance.Result, to writer: inout JSONWriter) {
                writer.object {
                    $0.field("check", result.name)
                    $0.field("result", result.verdict.rawValue)
                    $0.field("rule", result.rule)
                    $0.field("reason", result.reason)
                    switch result.outcome {
                    case .succeeded(let output):
                        $0.field("outcome", "succeeded")
                        $0.field("output", output)
                    case .failed(let failure):
                        $0.field("outcome", "failed")
                        $0.field("code", failure.code)
                        $0.field("message", failure.message)
                    case nil: break
                    }
                }
            }
        }
    }
}
