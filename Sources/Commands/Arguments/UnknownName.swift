import Control
import Jobs

/// Refuses names that nothing has, with the nearest one that something does.
enum UnknownName {
    static func definition(_ name: String, in set: DefinitionSet) -> CommandFailure {
        let known = set.definitions.map(\.definition.name) + set.graphs.map(\.definition.name)
        let problem = NearestName.unknown("definition", name, among: known, listing: "there are")
        return CommandFailure(.noInput, problem, see: "halyard definitions list")
    }

    /// Jobs have definitions, and no graph definition.
    static func check(definition name: String, in set: DefinitionSet) throws {
        let known = set.definitions.map(\.definition.name)
        if known.contains(name) { return }
        let problem = NearestName.unknown("definition", name, among: known, listing: "there are")
        throw CommandFailure(.noInput, problem, see: "halyard definitions list")
    }

    static func check(kind name: String, in set: DefinitionSet) throws {
        let known = set.kinds.map(\.name)
        if known.contains(name) { return }
        let problem = NearestName.unknown("kind", name, among: known, listing: "there are")
        throw CommandFailure(.noInput, problem, see: "halyard definitions list")
    }

    /// Tells all of several names that are unknown, before anything is done with the others.
    static func check(_ noun: String, _ names: [String], among known: [String]) throws {
        let unknown = names.filter { !known.contains($0) }
        if unknown.isEmpty { return }
        throw CommandFailure(
            .noInput, "Nothing was changed, since there is no such \(noun). See: halyard \(noun)s list",
            details: unknown.map { NearestName.unknown(noun, $0, among: known, listing: "there are") })
    }

    static func check(queue name: String, among queues: [QueueRecord], hint: String = "") throws {
        let known = queues.map(\.settings.name)
        if known.contains(name) { return }
        let nearest = NearestName.nearest(to: name, among: known).map { "Did you mean \($0)? " } ?? ""
        throw CommandFailure(.noInput, "There is no queue \(name). \(nearest)\(hint)See: halyard queues list")
    }
}
