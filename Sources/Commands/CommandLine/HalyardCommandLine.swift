import ArgumentParser
import ControlProtocol
import Jobs

/// Runs one command line.
public enum HalyardCommandLine {
    /// Parses the arguments, carries out the verb, prints the result, and returns the exit code. It throws
    /// nothing and does not end the process.
    ///
    /// - Parameter arguments: The arguments without the name of the program.
    public static func run(_ arguments: [String], in surroundings: Surroundings) async -> ExitCode {
        var code: ExitCode
        do {
            code = try await perform(arguments, in: surroundings)
            try surroundings.output.flush()
            try surroundings.errors.flush()
        } catch {
            code = report(error, asJSON: arguments.contains("--json"), in: surroundings)
        }
        return code
    }

    /// Runs the arguments of this process. Bytes that are not valid UTF-8 are refused, since replacing them would change the
    /// name of a file.
    public static func runProcess() async -> ExitCode {
        let arguments = CommandLine.arguments.dropFirst()
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = CommandLine.unsafeArgv[index], String(validatingCString: bytes) == nil else { continue }
            let failure = CommandFailure(
                .data, "Argument \(index) is not valid UTF-8. If it names a file, rename the file.")
            return report(failure, asJSON: arguments.contains("--json"), in: .process)
        }
        return await run(Array(arguments), in: .process)
    }

    private static func perform(_ arguments: [String], in surroundings: Surroundings) async throws -> ExitCode {
        if let verb = DirectVerb.parse(arguments) { return try await verb.run(in: surroundings) }
        if let failure = UnknownWord.verb(in: arguments) { throw failure }
        let command: any ParsableCommand
        do {
            command = try Halyard.parseAsRoot(arguments)
        } catch {
            if !Halyard.exitCode(for: error).isSuccess, let failure = UnknownWord.option(in: arguments) {
                throw failure
            }
            return try printMessage(of: error, asJSON: arguments.contains("--json"), in: surroundings)
        }
        if let verb = command as? any Verb { return try await verb.run(in: surroundings) }
        // The parser itself answers help and a bare `halyard`. It would also mistake the `h` in `-photo.jpg`
        // for help.
        if !UnknownWord.asksForHelp(arguments), let failure = UnknownWord.option(in: arguments) { throw failure }
        do {
            var command = command
            try command.run()
            return .success
        } catch {
            return try printMessage(of: error, asJSON: false, in: surroundings)
        }
    }

    /// Prints the parser's answer: help, version and scripts as data, and a wrong command line as a message.
    private static func printMessage(of error: any Error, asJSON: Bool, in surroundings: Surroundings) throws
        -> ExitCode
    {
        let message = Halyard.fullMessage(for: error)
        guard Halyard.exitCode(for: error).isSuccess else {
            if asJSON { throw CommandFailure(.usage, Halyard.message(for: error)) }
            // Print each line as safe text, since the message contains words that were typed.
            for line in message.split(separator: "\n", omittingEmptySubsequences: false) {
                try surroundings.errors.line(StyledText(String(line).withShortWords))
            }
            try surroundings.errors.flush()
            return .usage
        }
        try surroundings.output.write(message.hasSuffix("\n") ? message : message + "\n")
        return .success
    }

    /// - Parameter asJSON: Whether to print the error as an RFC 9457 problem on one line.
    private static func report(_ error: any Error, asJSON: Bool, in surroundings: Surroundings) -> ExitCode {
        let failure: CommandFailure =
            switch error {
            case let failure as CommandFailure: failure
            case let problem as ControlProblem: CommandFailure(problem)
            default: CommandFailure(.software, "\(error). This is a defect; please report it.")
            }
        do {
            // Print the data that the verb produced before it failed.
            try surroundings.output.flush()
            if asJSON, !failure.message.isEmpty {
                try surroundings.errors.json(failure.problem.json)
            } else if !failure.message.isEmpty {
                try surroundings.errors.line("\("halyard:", .red) \(failure.message.withShortWords)")
                for detail in failure.details { try surroundings.errors.line("  \(detail.withShortWords)") }
            }
            try surroundings.errors.flush()
        } catch {
            // Nobody reads the messages any more, but the exit code still reports the failure.
            return failure.exit
        }
        return failure.exit
    }
}
