/// The kinds that a process can run, by name.
public struct KindRegistry: Sendable {
    private let kinds: [String: RunnableKind]

    /// - Throws: When two kinds share a name, or a name is not one that a definition could give.
    public init(_ kinds: [any Kind]) throws(KindRegistryError) {
        var byName: [String: RunnableKind] = [:]
        for kind in kinds {
            let runnable = RunnableKind(kind)
            let name = runnable.description.name
            guard Names.isName(name) else { throw .notAName(name) }
            if let hidden = HiddenCharacter(in: runnable.description.summary) {
                throw .hiddenInSummary(of: name, hidden)
            }
            guard byName.updateValue(runnable, forKey: name) == nil else { throw .duplicate(name) }
        }
        self.kinds = byName
    }

    var all: some Collection<RunnableKind> { kinds.values }
    public subscript(name: String) -> RunnableKind? { kinds[name] }

    /// In order of name.
    public var descriptions: [KindDescription] {
        kinds.values.map(\.description).sorted { $0.name < $1.name }
    }
}

public enum KindRegistryError: Error, Sendable, Hashable, CustomStringConvertible {
    case duplicate(String)
    case notAName(String)
    case hiddenInSummary(of: String, HiddenCharacter)

    public var description: String {
        switch self {
        case .duplicate(let name): "two kinds are called \"\(name)\"; rename one"
        case .notAName(let name):
            "\"\(name)\" cannot name a kind: \(Names.nameRule)"
        case .hiddenInSummary(let name, let character):
            "the summary of kind \"\(name)\" contains \(character); remove that"
        }
    }
}
