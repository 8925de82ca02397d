import ControlProtocol
import Jobs

/// Refuses unknown names and suggests the nearest known one.
enum UnknownName {
    /// - Parameter command: Lists the known names.
    static func check(_ noun: String, _ name: String, among known: [String], see command: String) throws {
        if known.contains(name) { return }
        let problem = NearestName.unknown(noun, name, among: known, listing: "there are")
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

    static func check(queue name: String, among queues: [QueueRecord], hint: String = "") throws {
        let known = queues.map(\.settings.name)
        if known.contains(name) { return }
        let nearest = NearestName.nearest(to: name, among: known).map { "Did you mean \($0)? " } ?? ""
        throw CommandFailure(.noInput, "There is no queue \(name). \(nearest)\(hint)See: halyard queues list")
    }
}
