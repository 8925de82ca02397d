import Jobs

extension JobFailure {
    /// The message for the log: a URL keeps its origin alone, since path and query are what the job was given.
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
            // A sentence may end with the URL.
            let end = given.last.map { ".:!".contains($0) } == true ? String(given.suffix(1)) : ""
            text += "/…" + end
            rest = rest[given.endIndex...]
        }
        return text + rest
    }

    /// The reason within a line of the log; `HALYARD_ERROR` holds all of a long one.
    var reason: String {
        let message = loggedMessage
        if message.isEmpty { return code }
        return message.count > 300 ? String(message.prefix(300)) + "…" : message
    }
}
