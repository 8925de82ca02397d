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
