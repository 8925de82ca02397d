import Jobs

/// A revision of a definition with what every attempt of it needs, worked out once.
final class PreparedDefinition: Sendable {
    let definition: Definition
    let defaults: JSONObject
    /// Nil when this process does not have the kind.
    let kind: RunnableKind?
    /// Why its jobs fail without having run.
    let unreadable: String?

    init(_ definition: Definition, kind: RunnableKind?, unreadable: String? = nil) {
        self.definition = definition
        self.unreadable = unreadable
        self.kind = kind
        // The store accepts only objects here.
        defaults = JSONObject(definition.input) ?? JSONObject()
    }
}
