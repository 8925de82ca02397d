import Jobs

extension NewGraph {
    /// Refuses the first text that contains a hidden character; nil if there is none. The schema would also refuse the
    /// text, but without naming the character.
    package var hiddenText: EnqueueProblem? {
        if let hidden = name.flatMap({ HiddenCharacter(in: $0) }) {
            return .hiddenCharacter(hidden, field: "the graph's name")
        }
        if let hidden = key.flatMap({ HiddenCharacter(in: $0.name) }) {
            return .hiddenCharacter(hidden, field: "the key")
        }
        for node in jobs.lazy.compactMap(\.node) {
            if let hidden = HiddenCharacter(in: node) { return .hiddenCharacter(hidden, field: "the node's name") }
        }
        return nil
    }
}
