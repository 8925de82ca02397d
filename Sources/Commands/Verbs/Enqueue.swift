import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Enqueue: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "enqueue", abstract: "Enqueue a job, a graph, or many from JSON lines.",
            discussion: """
                Arguments fill the input fields of the definition (or the parameters of the graph definition) in order; \
                field=value sets a field by name. Text is used unchanged; numbers, true, false, objects and arrays are parsed \
                as JSON if the field has that type. A field of the type strings takes all remaining arguments if it is the last one, \
                and may be set several times. To see the fields: halyard definitions show NAME

                A file outside the daemon's roots is copied into its spool; a file that --input names is copied only with --copy. \
                A file in a field of the type strings is never copied. - is standard input.

                Prints the number of each job. When the command returns, the jobs are on disk. With --wait it prints how each job \
                ended, and on standard error why a job failed; the exit code is the outcome: 0 all succeeded, 1 failed, \
                2 cancelled, 3 skipped, 4 not final when --timeout passed.

                  halyard enqueue unfurl https://example.org/short max_redirects=5
                  halyard enqueue save-link https://example.org/page --priority high --wait
                  halyard enqueue upload photo.jpg https://files.example.org/photo.jpg --after 41:finished
                  halyard enqueue --lines jobs.jsonl
                """)

        @Argument(
            help: "A definition or a graph definition.",
            completion: .names(.definitions), transform: NameArgument.read)
        var name: String?

        @Argument(help: "Values of input fields, in order or as field=value.", completion: .file())
        var arguments: [String] = []

        @Option(
            name: .customLong("set"),
            help: ArgumentHelp(
                "Set an input field (for a graph also node.field=value); may be repeated.", valueName: "field=value"))
        var assignments: [String] = []

        @Option(
            help: ArgumentHelp(
                "Read the input, a JSON object, from a file; - is standard input.", valueName: "file"),
            completion: .file())
        var input: String?

        @Option(
            help: ArgumentHelp(
                "Enqueue each line of a file, one JSON object per submission; - is standard input.",
                valueName: "file"),
            completion: .file())
        var lines: String?

        @Option(
            help: ArgumentHelp(
                "Start after this job succeeds, or merely finishes; may be repeated.", valueName: "job[:finished]"),
            completion: .names(.openJobs),
            transform: AfterArgument.read)
        var after: [AfterArgument] = []

        @Option(
            help: ArgumentHelp(
                "Earliest start, e.g. 2026-07-25T18:00Z, '2026-07-25 18:00', 18:00.", valueName: "time"),
            transform: TimeArgument.read)
        var at: TimeArgument?

        @Option(
            name: .customLong("in"),
            help: ArgumentHelp("Earliest start, counted from now, e.g. 30s, 5m, 1h30m.", valueName: "duration"),
            transform: Duration.read)
        var delay: Duration?

        @Flag(help: "Copy files into the daemon's spool even if the daemon can read them.")
        var copy = false

        @OptionGroup var options: SubmissionOptions
        @OptionGroup var waiting: WaitOptions
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if at != nil && delay != nil { throw ValidationError("--at and --in cannot be combined.") }
            if lines == nil {
                if name == nil {
                    throw ValidationError("Name a definition or use --lines. See: halyard definitions list")
                }
                return
            }
            if copy {
                throw ValidationError(
                    "--copy cannot be combined with --lines: files named in lines must be inside the daemon's roots. Enqueue other files separately, with --input FILE --copy."
                )
            }
            let isAlone =
                name == nil && assignments.isEmpty && input == nil && options.queue == nil && options.priority == nil
                && after.isEmpty && at == nil && delay == nil && options.key == nil
            if waiting.wait {
                throw ValidationError(
                    "--wait cannot be combined with --lines. Wait for the jobs whose numbers it prints: halyard wait NUMBER…"
                )
            }
            if !isAlone {
                throw ValidationError(
                    "With --lines, each line has its own name, input and settings. Use --lines alone.")
            }
        }

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            if let lines {
                let file = try InputFile(lines, in: surroundings)
                return try await Session.with(common, for: .writing, in: surroundings) { session in
                    try await LineSubmission(session: session).submit(file)
                }
            }
            let typed = try TypedInput(
                base: try readInput(in: surroundings), assignments: assignments, arguments: arguments)
            return try await Session.with(common, for: .writing, in: surroundings) { session in
                let receipt = try await submit(typed, session)
                try await session.noteWritten(willRun: true)
                return try await session.wait(for: receipt, waiting)
            }
        }

        private func readInput(in surroundings: Surroundings) throws -> JSONObject? {
            guard let input else { return nil }
            let file = try InputFile(input, in: surroundings)
            let text: JSONText
            do {
                text = try JSONText(checking: try file.readAll(limit: JSONText.maxBytes))
            } catch let problem as JSONProblem {
                throw CommandFailure(.data, "\(file.name) is not a valid input: \(problem). Correct it.")
            }
            guard let object = JSONObject(text) else {
                throw CommandFailure(.data, "\(file.name) is not a JSON object. Write the fields between { and }.")
            }
            return object
        }

        private func submit(_ typed: TypedInput, _ session: Session) async throws -> EnqueueReceipt {
            let name = name ?? ""
            var input = typed.plain
            // Other jobs that run first may create the file.
            var startsLater = !after.isEmpty || at != nil || delay != nil
            if typed.needsDefinitions || copy {
                let definitions = try await session.definitions(for: name)
                startsLater = startsLater || definitions.graphs.contains { $0.definition.name == name }
                input = try typed.resolve(for: name, in: definitions, copiesAll: copy)
            }
            var start = Submission.Start.now
            if let at { start = .at(at.moment(now: session.now)) }
            if let delay { start = .after(delay) }
            let files = Spooling(session: session)
            try files.makeAbsolute(&input, mayComeLater: startsLater)
            if copy, input?.files.isEmpty != false {
                throw CommandFailure(
                    .usage, "--copy copies the files that the input names, but the input names none. Omit --copy.")
            }
            let mustCopy = Spooling.mustCopy(input)
            if mustCopy, self.input == "-" {
                throw CommandFailure(
                    .usage, "Standard input can be the input or the file, not both. Name a file for one of them.")
            }
            if copy || mustCopy { try await files.copy(&input) }
            var submission = Submission(
                .definition(name), input: input?.object.text, queue: options.queue, priority: options.priority,
                after: after.map { .init(job: $0.job, condition: $0.condition) }, start: start, key: options.key)
            var answer = try await session.enqueue(submission)
            if case .refused(let problem) = answer, problem.code == .outsideRoots, input?.files.isEmpty == false,
                !copy, !mustCopy
            {
                try await files.copy(&input)
                submission.input = input?.object.text
                answer = try await session.enqueue(submission)
            }
            if case .refused(let problem) = answer, problem.code == .outsideRoots, self.input != nil, !copy {
                var failure = CommandFailure(problem)
                failure.details.append("Add --copy to have it copied.")
                throw failure
            }
            if case .refused(let problem) = answer, problem.code == .invalidInput, self.input == nil {
                let usage = Catalog(try await session.definitions(for: name)).usage(of: name)
                var failure = CommandFailure(problem)
                if !usage.isEmpty {
                    failure.details.append(
                        "Write: halyard enqueue \(name) \(usage.joined(separator: " ")). See: halyard definitions show \(name)"
                    )
                }
                throw failure
            }
            if case .refused(let problem) = answer, problem.code == .unknownDefinition {
                var failure = CommandFailure(problem)
                failure.details.append("See: halyard definitions")
                throw failure
            }
            let receipt = try answer.report(in: session)
            if !session.isDaemon, let file = input?.files.first {
                try session.note("the daemon will read \(file.path) itself; the file must be inside its roots")
            }
            return receipt
        }
    }
}
