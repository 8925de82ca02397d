import Jobs

extension JobFailure {
    /// The message for the log. Every URL is shortened to its origin, because user, path and query are part of the
    /// job's input.
    var loggedMessage: String {
        guard message.contains("://") else { return message }
        var rest = message[...]
        var text = ""
        while let mark = rest.firstRange(of: "://") {
            text += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            // A password may contain characters that would otherwise end the URL.
            if let at = rest.prefix(while: { !"/?# \t\n\"`<>".contains($0) }).lastIndex(of: "@") {
                rest = rest[rest.index(after: at)...]
            }
            let host = rest.prefix { !"/?# \t\n\"'`<>(),;".contains($0) }
            text += host
            rest = rest[host.endIndex...]
            guard let next = rest.first, "/?#".contains(next) else { continue }
            let given = rest.prefix { !" \t\n\"'`<>(),;".contains($0) }
            // Keeps a trailing punctuation mark, which belongs to the sentence and not to the URL.
            let end = given.last.map { ".:!".contains($0) } == true ? String(given.suffix(1)) : ""
            text += "/…" + end
            rest = rest[given.endIndex...]
        }
        return text + rest
    }

    /// The message in the text of a log entry, shortened if it is long. `HALYARD_ERROR` contains the complete message.
    var reason: String {
        let message = loggedMessage
        if message.isEmpty { return code }
        return message.count > 300 ? String(message.prefix(300)) + "…" : message
    }
}
