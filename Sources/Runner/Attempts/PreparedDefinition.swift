import Jobs

/// A revision of a definition with the data that all its attempts need, computed once.
final class PreparedDefinition: Sendable {
    let definition: Definition
    let defaults: JSONObject
    /// The definition's kind; nil if this process does not have it.
    let kind: RunnableKind?
    /// The reason why jobs of this revision fail without being run; nil if they can run.
    let unreadable: String?

    init(_ definition: Definition, kind: RunnableKind?, unreadable: String? = nil) {
        self.definition = definition
        self.unreadable = unreadable
        self.kind = kind
        // The store accepts only JSON objects as inputs of definitions.
        defaults = JSONObject(definition.input) ?? JSONObject()
    }
}

/// The revisions that a runner has prepared. A revision never changes, so it is read only once.
struct PreparedDefinitions {
    private var known: [DefinitionID: PreparedDefinition] = [:]

    mutating func prepare(
        _ id: DefinitionID, from store: any JobStore, _ kinds: KindRegistry
    ) async throws(StoreError) -> PreparedDefinition {
        if let definition = known[id] { return definition }
        guard let stored = try await store.definition(id) else {
            throw .damaged(
                message: "a job refers to revision \(id.rawValue) of a definition, but that revision does not exist")
        }
        let definition = PreparedDefinition(
            stored.definition, kind: kinds[stored.definition.kind], unreadable: stored.unreadable)
        // Revisions that are no longer used must not accumulate in a process that runs for years.
        if known.count >= 10_000 { known = [:] }
        known[id] = definition
        return definition
    }
}
