import Jobs

/// A name that no definition has.
enum UnknownDefinition {
    static func failure(_ name: String, in set: DefinitionSet) -> CommandFailure {
        let known = set.definitions.map(\.definition.name) + set.graphs.map(\.definition.name)
        let nearest = NearestName.nearest(to: name, among: known).map { "Did you mean \($0)? " } ?? ""
        return CommandFailure(.noInput, "There is no definition \(name). \(nearest)See: halyard definitions list")
    }
}
