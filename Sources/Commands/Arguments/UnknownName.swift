import ControlProtocol
import Jobs

/// Refuses unknown names and suggests the nearest known one.
enum UnknownName {
    /// - Parameters:
    ///   - hint: Another remedy, as a sentence.
    ///   - command: The command that lists the known names.
    static func check(
        _ noun: String, _ name: String, among known: [String], hint: String = "", see command: String
    ) throws {
        if known.contains(name) { return }
        var problem = NearestName.unknown(noun, name, among: known, listing: "there are")
        if !hint.isEmpty { problem += (problem.hasSuffix("?") ? " " : ". ") + hint }
        throw CommandFailure(.noInput, problem, see: command)
    }

    /// Refuses a list of names that contains unknown ones and reports all of these, so that nothing is done
    /// with the others.
    static func check(_ noun: String, _ names: [String], among known: [String]) throws {
        let unknown = names.filter { !known.contains($0) }
        if unknown.isEmpty { return }
        throw CommandFailure(
            .noInput, "Nothing was changed, because there is no such \(noun). See: halyard \(noun)s list",
            details: unknown.map { NearestName.unknown(noun, $0, among: known, listing: "there are") })
    }
}
