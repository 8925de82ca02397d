/// The name of a queue, a kind, a definition or a schedule. The daemon checks whether it exists.
enum NameArgument {
    private static let maxBytes = 64

    @Sendable static func read(_ text: String) throws -> String {
        if text.isEmpty { throw ArgumentProblem(description: "it is empty; give a name") }
        let count = text.utf8.count
        guard count <= maxBytes else {
            throw ArgumentProblem(description: "it has \(count) bytes; a name has at most \(maxBytes)")
        }
        return text
    }
}
