import ArgumentParser

/// Parses the verb that was typed without the other verbs, whose descriptions take longer to build than the rest of a small
/// command takes to run.
enum DirectVerb {
    /// - Returns: Nil for everything but a correct call of a verb. The whole parser then has the last word: it explains
    ///   what is wrong, and prints help.
    static func parse(_ arguments: [String]) -> (any Verb)? {
        guard let word = arguments.first, let verb = verb(named: word) else { return nil }
        // The whole parser fails in the same way, and says so.
        return try? verb.parse(Array(arguments.dropFirst()))
    }

    /// Verbs without verbs of their own.
    static func verb(named word: String) -> (any Verb.Type)? {
        switch word {
        case "enqueue": Halyard.Enqueue.self
        case "upload": Halyard.Upload.self
        case "wait": Halyard.Wait.self
        case "result": Halyard.Result.self
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
        default: nil
        }
    }
}
