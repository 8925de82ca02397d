import ArgumentParser
import Jobs

/// Finds unknown words in a command line and suggests the nearest known ones.
enum UnknownWord {
    /// Returns the failure for an unknown verb. The parser would only call it an unexpected argument.
    static func verb(in arguments: [String]) -> CommandFailure? {
        let command = NamedCommand(in: arguments)
        let verbs = command.type.configuration.subcommands
        guard !verbs.isEmpty, let word = command.rest.first, !word.hasPrefix("-") else { return nil }
        return failure("verb", word, nearest: verbs.compactMap { $0.configuration.commandName }, command.path)
    }

    /// Returns the failure for an unknown option in a command line that the parser refused. The parser checks
    /// options last, so it first reports errors that follow from the unknown one, such as a missing value.
    static func option(in arguments: [String]) -> CommandFailure? {
        var command = NamedCommand(in: arguments)
        if let standard = command.type.configuration.defaultSubcommand {
            command.type = standard
            command.path += " " + standard._commandName
        }
        let known = options(of: command.type)
        for word in command.rest {
            if word == "--" { return nil }
            let name = String(word.prefix { $0 != "=" })
            // "-" is standard input.
            guard name.hasPrefix("-"), name != "-", !isNumber(word, in: command), !known.contains(name),
                name != "--generate-completion-script"
            else { continue }
            return failure(
                "option", name, nearest: known.filter { $0.hasPrefix("--") }, command.path,
                hint: takesFiles(command.type)
                    ? "If it is a file, write ./\(word); put other text that begins with a dash after --. " : "")
        }
        return nil
    }

    /// Whether a word such as -5 may be the value of an option. A verb that takes files accepts no such word as an argument.
    private static func isNumber(_ word: String, in command: NamedCommand) -> Bool {
        guard Double(word) != nil else { return false }
        guard takesFiles(command.type), let index = command.rest.firstIndex(of: word) else { return true }
        return index > command.rest.startIndex && command.rest[index - 1].hasPrefix("--")
    }

    /// Whether one of the words asks for help.
    static func asksForHelp(_ arguments: [String]) -> Bool {
        arguments.prefix { $0 != "--" }.contains { ["-h", "--help", "-help", "--help-hidden"].contains($0) }
    }

    private static func takesFiles(_ command: any ParsableCommand.Type) -> Bool {
        command == Halyard.Enqueue.self || command == Halyard.Upload.self || command == Halyard.Definitions.Apply.self
    }

    /// The command that the words before the first option name.
    private struct NamedCommand {
        var type: any ParsableCommand.Type = Halyard.self
        var path = "halyard"
        var rest: ArraySlice<String>

        init(in arguments: [String]) {
            rest = arguments[...]
            while let word = rest.first {
                let next = type.configuration.subcommands.first {
                    $0.configuration.commandName == word || $0.configuration.aliases.contains(word)
                }
                if let next {
                    type = next
                    path += " " + word
                } else if word != "help" || type.configuration.subcommands.isEmpty {
                    return
                }
                rest.removeFirst()
            }
        }
    }

    /// Returns the names of a command's options. The parser provides them only in its help, where the line of
    /// an option begins with its names.
    private static func options(of command: any ParsableCommand.Type) -> [String] {
        Halyard.helpMessage(for: command, columns: 1000).split(separator: "\n").filter { $0.hasPrefix("  -") }
            .flatMap { $0.split { " ,".contains($0) }.prefix { $0.hasPrefix("-") }.map(String.init) }
    }

    private static func failure(
        _ noun: String, _ word: String, nearest candidates: [String], _ path: String, hint: String = ""
    ) -> CommandFailure {
        // Compare the names without dashes, so that a missing or extra dash does not count as a difference.
        let bare = { (name: String) in String(name.drop { $0 == "-" }) }
        let nearest = NearestName.nearest(to: bare(word), among: candidates.map(bare))
        let meant = candidates.first { bare($0) == nearest }.map { "Did you mean \($0)? " } ?? hint
        return CommandFailure(.usage, "There is no \(noun) \(word). \(meant)See: \(path) --help")
    }
}
