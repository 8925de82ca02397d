import ArgumentParser

/// One verb of the command line: it parses, calls a `JobControl`, and renders.
protocol Verb: ParsableCommand {
    func run(in surroundings: Surroundings) async throws -> ExitCode
}

extension CommandConfiguration {
    /// The configuration of a verb that ``DirectVerb`` parses.
    ///
    /// It names the program as the verb's parent. Otherwise the parser would treat the verb as a program and
    /// first look for a program's options (`--generate-completion-script`), which takes longer than parsing the
    /// verb.
    static func ofDirectVerb(
        commandName: String, abstract: String = "", discussion: String = "", shouldDisplay: Bool = true,
        aliases: [String] = []
    ) -> CommandConfiguration {
        CommandConfiguration(
            commandName: commandName, _superCommandName: "halyard", abstract: abstract, discussion: discussion,
            shouldDisplay: shouldDisplay, aliases: aliases)
    }
}
