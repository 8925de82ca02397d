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

    /// The verbs without subcommands.
    static func verb(named word: String) -> (any Verb.Type)? {
        switch word {
        case "enqueue": Halyard.Enqueue.self
        case "upload": Halyard.Upload.self
        case "wait": Halyard.Wait.self
        case "result": Halyard.PrintResult.self
        case "cancel": Halyard.Cancel.self
        case "retry": Halyard.Retry.self
        case "prune": Halyard.Prune.self
        case "list": Halyard.List.self
        case "show": Halyard.Show.self
        case "why": Halyard.Why.self
        case "graph": Halyard.Graph.self
        case "watch": Halyard.Watch.self
        case "status": Halyard.Status.self
        case "reload": Halyard.Reload.self
        case "names": Halyard.Names.self
        default: nil
        }
    }
}
