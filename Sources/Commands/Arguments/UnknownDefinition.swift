import Jobs

/// A name that no definition has.
enum UnknownDefinition {
    static func failure(_ name: String, in set: DefinitionSet) -> CommandFailure {
        let known = set.definitions.map(\.definition.name) + set.graphs.map(\.definition.name)
        let problem = NearestName.unknown("definition", name, among: known, listing: "there are")
        return CommandFailure(.noInput, problem, see: "halyard definitions list")
    }
}
