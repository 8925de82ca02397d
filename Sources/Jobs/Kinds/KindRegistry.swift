/// The kinds that a process can run, by name.
public struct KindRegistry: Sendable {
    private let kinds: [String: RunnableKind]

    /// Creates a registry of kinds that run in this process.
    ///
    /// - Throws: ``KindRegistryProblem``, as ``init(runnable:)``.
    public init(_ kinds: [any Kind]) throws(KindRegistryProblem) {
        try self.init(runnable: kinds.map { RunnableKind($0) })
    }

    /// Creates a registry of these kinds.
    ///
    /// - Throws: ``KindRegistryProblem`` if two kinds have the same name, if a name is not one that a definition could
    ///   contain, or if a summary contains a hidden character.
    public init(runnable kinds: [RunnableKind]) throws(KindRegistryProblem) {
        var byName: [String: RunnableKind] = [:]
        for runnable in kinds {
            let name = runnable.description.name
            guard Names.isName(name) else { throw .notAName(name) }
            if let hidden = HiddenCharacter(in: runnable.description.summary) {
                throw .hiddenInSummary(of: name, hidden)
            }
            guard byName.updateValue(runnable, forKey: name) == nil else { throw .duplicate(name) }
        }
        self.kinds = byName
    }

    /// All kinds, in no particular order.
    public var all: some Collection<RunnableKind> { kinds.values }
    /// The worker programs that run kinds, each once.
    public var hosts: [any KindHost] {
        var seen: Set<ObjectIdentifier> = []
        return kinds.values.compactMap(\.host).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
    /// The kind of this name; nil if this process does not know it.
    public subscript(name: String) -> RunnableKind? { kinds[name] }

    /// The descriptions of all kinds, ordered by name.
    public var descriptions: [KindDescription] {
        kinds.values.map(\.description).sorted { $0.name < $1.name }
    }
}

/// The reason why kinds cannot be registered.
public enum KindRegistryProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// Two kinds have this name.
    case duplicate(String)
    /// This name of a kind is not allowed in definitions.
    case notAName(String)
    /// The summary of the kind contains a hidden character.
    case hiddenInSummary(of: String, HiddenCharacter)

    public var description: String {
        switch self {
        case .duplicate(let name): "two kinds are called \"\(name)\"; rename one"
        case .notAName(let name):
            "\"\(name)\" is not a valid name for a kind; \(Names.nameRule)"
        case .hiddenInSummary(let name, let character):
            "the summary of kind \"\(name)\" contains \(character); remove it"
        }
    }
}
