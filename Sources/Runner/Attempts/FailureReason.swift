import Jobs

extension JobFailure {
    /// The message for the log. Each URL is cut to its origin, since path and query are part of the job's input.
    var loggedMessage: String {
        guard message.contains("://") else { return message }
        var rest = message[...]
        var text = ""
        while let mark = rest.firstRange(of: "://") {
            let authority = rest[mark.upperBound...].prefix { !"/?# \t\n\"'`<>(),;".contains($0) }
            text += rest[..<authority.endIndex]
            rest = rest[authority.endIndex...]
            guard let next = rest.first, "/?#".contains(next) else { continue }
            let given = rest.prefix { !" \t\n\"'`<>(),;".contains($0) }
            // Keeps punctuation that ends the sentence rather than the URL.
            let end = given.last.map { ".:!".contains($0) } == true ? String(given.suffix(1)) : ""
            text += "/…" + end
            rest = rest[given.endIndex...]
        }
        return text + rest
    }

    /// The reason for a line of the log, shortened if it is long; `HALYARD_ERROR` contains the whole message.
    var reason: String {
        let message = loggedMessage
        if message.isEmpty { return code }
        return message.count > 300 ? String(message.prefix(300)) + "…" : message
    }
}
