import ArgumentParser

/// Parses only the given verb. Building the descriptions of all verbs would take longer than a small command
/// runs.
enum DirectVerb {
    /// - Returns: Nil unless the arguments are a valid call of a verb. The full parser then explains the error
    ///   or prints help.
    static func parse(_ arguments: [String]) -> (any Verb)? {
        guard let word = arguments.first, let verb = verb(named: word) else { return nil }
        let rest = Array(arguments.dropFirst())
        if word == "enqueue", let enqueue = Halyard.Enqueue(plain: rest) { return enqueue }
        // Losing the error is harmless, since the full parser finds it again and reports it.
        return try? verb.parse(rest)
    }

    /// Returns the verb without subcommands that has this name.
    static func verb(named word: String) -> (any Verb.Type)? {
        let verbs =
            Halyard.jobVerbs + Halyard.lookingVerbs + [Halyard.Reload.self, Halyard.Move.self, Halyard.Names.self]
        return verbs.first { $0.configuration.commandName == word }
    }
}
